// SPDX-License-Identifier: GPL-2.0
/*
 * Utilization clamps: who uses them, and turning the accounting on and off for
 * them.
 *
 * A user is a task, a group, or the three sysctls, that asks for something else
 * than the defaults. Each is counted once, by the values it asks for: a request
 * for the default is none. uclamp_users may change in any context. Those that
 * may sleep turn the accounting on before they return, for others uclamp_work does.
 *
 * The static key sched_uclamp_used takes the calls out of enqueue_task() and
 * dequeue_task() as long as nobody uses clamps. It has several sites, which are
 * patched one after the other while tasks come and go, so it cannot tell whether
 * a task is to be counted:
 *
 *	static_branch_enable()			CPU 1
 *	  uclamp_rq_inc() is patched
 *						enqueue_task(p), p is counted
 *						dequeue_task(p), p stays counted
 *	  uclamp_rq_dec() is patched
 *
 * The key is an optimization. What decides is UCLAMP_FLAG_ON of the rq, which is
 * only written under the rq lock, and only set while the key is enabled: each
 * task that is counted then finds all sites live.
 *
 * A task that was enqueued before is counted by a walk over all tasks. Until that
 * is over, the sums of a rq say too little: UCLAMP_FLAG_VALID, which is set after
 * it, lets others read them.
 *
 * Included by core.c: the fast path is to be inlined there.
 */

/*
 *		users, may sleep	no users, UCLAMP_ON_MIN later
 *	OFF ----------------------> ON ----------------------> DRAIN
 *	 ^			     ^ ----- users again -------'|
 *	 `------- no task is counted any more -------------------'
 *
 * In DRAIN the key is enabled, to uncount tasks, but none is counted any more.
 * Just forgetting the counts would not do: an exiting task is counted and cannot
 * be found. It would uncount itself after the next ON, from the counts of others.
 *
 * Written under uclamp_mutex.
 */
static enum {
	UCLAMP_OFF,
	UCLAMP_ON,
	UCLAMP_DRAIN,
} uclamp_state;

/*
 * How long the accounting stays on without users, and how long at least: any task
 * may set its own clamps and reset them, and each time code is patched and there
 * is a walk over all tasks. This limits it to once a second.
 */
#define UCLAMP_ON_MIN		HZ
/* Between two looks at the tasks that have to uncount themselves. */
#define UCLAMP_DRAIN_DELAY	(HZ / 10)

static unsigned long uclamp_on_since;
static unsigned long uclamp_last_put;	/* READ_ONCE(), WRITE_ONCE() */

static atomic_t uclamp_users = ATOMIC_INIT(0);

/* Of uclamp_users, under uclamp_mutex; the others are tasks. */
static unsigned int uclamp_group_users __maybe_unused;
static bool uclamp_sysctl_user __maybe_unused;

static void uclamp_rq_set_flags(unsigned int flags)
{
	int cpu;

	/* The rq of a CPU that is not online yet is as those of the others. */
	for_each_possible_cpu(cpu) {
		struct rq *rq = cpu_rq(cpu);

		guard(rq_lock_irqsave)(rq);
		/* Pairs with uclamp_rq_is_valid(): what is counted is seen. */
		smp_store_release(&rq->uclamp_flags, flags);
	}
}

/*
 * A task that is not seen here was forked or woken up after UCLAMP_FLAG_ON was
 * set, and is counted when it is enqueued; or it is exiting and not hashed any
 * more: it may be counted, if it is enqueued again, and then uncounts itself.
 */
static void uclamp_count_queued_tasks(void)
{
	struct task_struct *g, *p;
	struct rq_flags rf;
	struct rq *rq;

	guard(rcu)();
	for_each_process_thread(g, p) {
		/* Who is not queued now will be, with UCLAMP_FLAG_ON set. */
		if (!READ_ONCE(p->on_rq))
			continue;

		rq = task_rq_lock(p, &rf);
		if (task_on_rq_queued(p) && !p->uclamp[UCLAMP_MAX].active)
			uclamp_rq_inc(rq, p, 0);
		task_rq_unlock(rq, p, &rf);
	}
}

/*
 * Count all tasks from now on, those that are queued already too.
 *
 * Context: may sleep. uclamp_mutex is held.
 */
static void uclamp_turn_on(void)
{
	lockdep_assert_held(&uclamp_mutex);

	if (uclamp_state == UCLAMP_ON)
		return;

	/* All sites are live before the first rq counts. */
	static_branch_enable(&sched_uclamp_used);
	uclamp_rq_set_flags(UCLAMP_FLAG_ON);
	uclamp_count_queued_tasks();
	uclamp_rq_set_flags(UCLAMP_FLAG_ON | UCLAMP_FLAG_VALID);
	uclamp_on_since = jiffies;
	WRITE_ONCE(uclamp_state, UCLAMP_ON);
}

/* Uncount all tasks that can be found. */
static void uclamp_uncount_tasks(void)
{
	struct task_struct *g, *p;
	struct rq_flags rf;
	struct rq *rq;

	guard(rcu)();
	for_each_process_thread(g, p) {
		/*
		 * This can only change to false: who counts again what was
		 * counted, uclamp_update_active(), holds uclamp_mutex too.
		 */
		if (!data_race(!!p->uclamp[UCLAMP_MAX].active))
			continue;

		rq = task_rq_lock(p, &rf);
		uclamp_rq_dec(rq, p);
		task_rq_unlock(rq, p, &rf);
	}
}

/*
 * Return: no task is counted on @rq, which holds what it did before the first one
 * was.
 */
static bool uclamp_rq_reset(struct rq *rq)
{
	enum uclamp_id clamp_id;

	lockdep_assert_rq_held(rq);

	for_each_clamp_id(clamp_id) {
		if (rq->uclamp[clamp_id].used)
			return false;
		WRITE_ONCE(rq->uclamp[clamp_id].value, uclamp_none(clamp_id));
	}

	return true;
}

/* One after the other will do: a count cannot move to an rq that does not count. */
static bool uclamp_reset_rqs(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct rq *rq = cpu_rq(cpu);

		guard(rq_lock_irqsave)(rq);
		if (!uclamp_rq_reset(rq))
			return false;
	}

	return true;
}

/*
 * One step on the way off. Return: when to look again, in jiffies; 0: never.
 *
 * Context: may sleep. uclamp_mutex is held.
 */
static unsigned long uclamp_turn_off(void)
{
	unsigned long now, age;

	lockdep_assert_held(&uclamp_mutex);

	switch (uclamp_state) {
	case UCLAMP_OFF:
		return 0;
	case UCLAMP_ON:
		now = jiffies;
		age = min(now - uclamp_on_since, now - READ_ONCE(uclamp_last_put));
		if (age < UCLAMP_ON_MIN)
			return UCLAMP_ON_MIN - age;

		WRITE_ONCE(uclamp_state, UCLAMP_DRAIN);
		/*
		 * Pairs with the atomic_inc_return() before uclamp_enable_if_used():
		 * either it sees the state change, or its user is seen here.
		 */
		smp_mb();
		if (atomic_read(&uclamp_users)) {
			WRITE_ONCE(uclamp_state, UCLAMP_ON);
			return 0;
		}

		uclamp_rq_set_flags(0);
		uclamp_uncount_tasks();
		fallthrough;
	case UCLAMP_DRAIN:
		/* Who was not found is exiting. */
		if (!uclamp_reset_rqs())
			return UCLAMP_DRAIN_DELAY;

		/* In whatever order the sites are patched: nobody is counted. */
		static_branch_disable(&sched_uclamp_used);
		WRITE_ONCE(uclamp_state, UCLAMP_OFF);
	}

	return 0;
}

static void uclamp_work_fn(struct work_struct *work);
static DECLARE_DELAYED_WORK(uclamp_work, uclamp_work_fn);

/*
 * That the work is pending no more is visible before uclamp_users is read: a user
 * that is not seen here finds it not pending, and schedules it again.
 */
static void uclamp_work_fn(struct work_struct *work)
{
	unsigned long delay = 0;

	guard(mutex)(&uclamp_mutex);

	if (atomic_read(&uclamp_users))
		uclamp_turn_on();
	else
		delay = uclamp_turn_off();

	if (delay)
		queue_delayed_work(system_unbound_wq, &uclamp_work, delay);
}

/*
 * Context: any, under rq locks too, for the delayed work starts a timer and wakes
 * nobody up. For the same reason the delay must not be 0.
 */
static void uclamp_get(void)
{
	if (atomic_inc_return(&uclamp_users) == 1)
		queue_delayed_work(system_unbound_wq, &uclamp_work, 1);
}

/* Context: as uclamp_get() */
static void uclamp_put(void)
{
	WRITE_ONCE(uclamp_last_put, jiffies);
	if (atomic_dec_and_test(&uclamp_users))
		queue_delayed_work(system_unbound_wq, &uclamp_work, UCLAMP_ON_MIN);
}

/**
 * uclamp_enable_if_used - turn the accounting on if there are users
 *
 * For who has just become a user: on return the accounting is on, and what was
 * queued before is counted.
 *
 * Context: may sleep. Takes uclamp_mutex and, in it, the CPU hotplug lock.
 */
void uclamp_enable_if_used(void)
{
	if (READ_ONCE(uclamp_state) == UCLAMP_ON || !atomic_read(&uclamp_users))
		return;

	guard(mutex)(&uclamp_mutex);
	if (atomic_read(&uclamp_users))
		uclamp_turn_on();
}

/*
 * By policy, not by priority: a task does not become a user by being boosted. An
 * RT task without a request of its own follows a sysctl, which is a user itself if
 * it is not at its default.
 */
static bool uclamp_task_is_user(struct task_struct *p)
{
	struct uclamp_se *min = &p->uclamp_req[UCLAMP_MIN];

	if (p->uclamp_req[UCLAMP_MAX].value != uclamp_none(UCLAMP_MAX))
		return true;
	if (rt_policy(p->policy))
		return min->user_defined && min->value != SCHED_CAPACITY_SCALE;

	return min->value != uclamp_none(UCLAMP_MIN);
}

/**
 * uclamp_sync_task - count a task among the users, or not any more
 * @p: the task, after a change of its request or policy
 *
 * Context: the rq lock of @p is held. Follow up with uclamp_enable_if_used() if possible.
 */
void uclamp_sync_task(struct task_struct *p)
{
	bool user = uclamp_task_is_user(p);

	lockdep_assert_rq_held(task_rq(p));

	if (user == p->uclamp_req[UCLAMP_MAX].user)
		return;

	p->uclamp_req[UCLAMP_MAX].user = user;
	if (user)
		uclamp_get();
	else
		uclamp_put();
}

/**
 * sched_uclamp_free - a task is freed
 * @p: the task
 *
 * Not before: until then its clamps can be changed, even those of a zombie.
 *
 * Context: any, the last reference to a task may be dropped under an rq lock.
 */
void sched_uclamp_free(struct task_struct *p)
{
	if (p->uclamp_req[UCLAMP_MAX].user)
		uclamp_put();
}

#ifdef CONFIG_SYSCTL
/* After a change of the sysctls. */
static void uclamp_sync_sysctls(void)
{
	bool user = sysctl_sched_uclamp_util_min != SCHED_CAPACITY_SCALE ||
		    sysctl_sched_uclamp_util_max != SCHED_CAPACITY_SCALE ||
		    sysctl_sched_uclamp_util_min_rt_default != SCHED_CAPACITY_SCALE;

	lockdep_assert_held(&uclamp_mutex);

	if (user != uclamp_sysctl_user) {
		uclamp_sysctl_user = user;
		if (user)
			uclamp_get();
		else
			uclamp_put();
	}
	if (user)
		uclamp_turn_on();
}
#endif

#ifdef CONFIG_UCLAMP_TASK_GROUP
static void uclamp_set_tg_user(struct task_group *tg, bool user)
{
	lockdep_assert_held(&uclamp_mutex);

	if (user != tg->uclamp_user) {
		tg->uclamp_user = user;
		if (user) {
			uclamp_group_users++;
			uclamp_get();
		} else {
			uclamp_group_users--;
			uclamp_put();
		}
	}
	if (user)
		uclamp_turn_on();
}

/*
 * After a change of the request of @tg, when the effective clamps of it and its
 * children are updated: those of the latter are defaults if all requests are.
 */
static void uclamp_sync_tg(struct task_group *tg)
{
	enum uclamp_id clamp_id;
	bool user = false;

	for_each_clamp_id(clamp_id)
		user |= tg->uclamp_req[clamp_id].value != uclamp_none(clamp_id);

	uclamp_set_tg_user(tg, user);
}

static void uclamp_offline_tg(struct task_group *tg)
{
	guard(mutex)(&uclamp_mutex);
	uclamp_set_tg_user(tg, false);
}
#endif

#ifdef CONFIG_SCHED_DEBUG
static void uclamp_show_rq(struct seq_file *m, struct rq *rq)
{
	unsigned int tasks[UCLAMP_CNT] = { }, value[UCLAMP_CNT], flags;
	enum uclamp_id clamp_id;
	int i;

	scoped_guard (rq_lock_irqsave, rq) {
		flags = rq->uclamp_flags;
		for_each_clamp_id(clamp_id) {
			value[clamp_id] = rq->uclamp[clamp_id].value;
			for (i = 0; i < UCLAMP_BUCKETS; i++)
				tasks[clamp_id] += rq->uclamp[clamp_id].bucket[i].tasks;
		}
	}

	seq_printf(m, "cpu%d: on %d valid %d min %u max %u min_tasks %u max_tasks %u\n",
		   cpu_of(rq), !!(flags & UCLAMP_FLAG_ON), !!(flags & UCLAMP_FLAG_VALID),
		   value[UCLAMP_MIN], value[UCLAMP_MAX],
		   tasks[UCLAMP_MIN], tasks[UCLAMP_MAX]);
}

int sched_uclamp_show(struct seq_file *m, void *v)
{
	static const char * const states[] = {
		[UCLAMP_OFF]	= "off",
		[UCLAMP_ON]	= "on",
		[UCLAMP_DRAIN]	= "drain",
	};
	int users, cpu;

	guard(mutex)(&uclamp_mutex);

	users = atomic_read(&uclamp_users);
	seq_printf(m, "state: %s\n", states[uclamp_state]);
	seq_printf(m, "key: %d\n", static_key_enabled(&sched_uclamp_used));
	seq_printf(m, "users: %d\n", users);
	seq_printf(m, "users_tasks: %d\n", users - (int)uclamp_group_users - uclamp_sysctl_user);
	seq_printf(m, "users_groups: %u\n", uclamp_group_users);
	seq_printf(m, "users_sysctls: %d\n", uclamp_sysctl_user);
	for_each_possible_cpu(cpu)
		uclamp_show_rq(m, cpu_rq(cpu));

	return 0;
}
#endif
