// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of utilization clamps: what an rq has of its tasks, who counts as a
 * user, and turning the accounting on and off. Included at the end of core.c.
 *
 * The ref_*() functions count as the kernel did before: each clamp for itself,
 * with the effective value computed at each enqueue. Runqueues and tasks are
 * made up, but for the cases at the end, which let real tasks come and go.
 */
#include "tests/compat.h"

#include <linux/kthread.h>
#include <linux/sched/cpufreq.h>

#define UC_TASKS	24
#define UC_RQS		4
#define UC_GROUPS	3
#define UC_STEPS	100000
#define UC_ROUNDS	2000

/* What the accounting was: one flag for idle, a search through the buckets. */
struct ref_rq {
	struct uclamp_rq uclamp[UCLAMP_CNT];
	bool idle;
};

struct ref_task {
	struct uclamp_se uclamp[UCLAMP_CNT];
};

struct uc_env {
	struct rnd_state rnd;
	struct rq *rq[UC_RQS];
	struct task_struct *task[UC_TASKS];
	int on_rq[UC_TASKS];		/* index of the rq, or -1 */
	bool exiting[UC_TASKS];
	struct ref_rq ref_rq;
	struct ref_task ref_task[UC_TASKS];
#ifdef CONFIG_UCLAMP_TASK_GROUP
	struct task_group *group[UC_GROUPS];
#endif
	struct uclamp_se default_before[UCLAMP_CNT];
};

static struct uclamp_se ref_eff_get(struct task_struct *p, enum uclamp_id clamp_id)
{
	struct uclamp_se req = p->uclamp_req[clamp_id];

#ifdef CONFIG_UCLAMP_TASK_GROUP
	if (!task_group_is_autogroup(task_group(p)) && task_group(p) != &root_task_group) {
		unsigned int min = task_group(p)->uclamp[UCLAMP_MIN].value;
		unsigned int max = task_group(p)->uclamp[UCLAMP_MAX].value;
		unsigned int value = req.value;

		if (value < min)
			value = min;
		else if (value > max)
			value = max;
		uclamp_se_set(&req, value, false);
	}
#endif
	if (req.value > uclamp_default[clamp_id].value)
		return uclamp_default[clamp_id];

	return req;
}

static void ref_rq_inc(struct ref_rq *rq, struct ref_task *ref, struct task_struct *p)
{
	enum uclamp_id clamp_id;

	for_each_clamp_id(clamp_id) {
		struct uclamp_rq *uc_rq = &rq->uclamp[clamp_id];
		struct uclamp_se *se = &ref->uclamp[clamp_id];
		struct uclamp_bucket *bucket;

		*se = ref_eff_get(p, clamp_id);
		bucket = &uc_rq->bucket[se->bucket_id];
		bucket->tasks++;
		se->active = true;

		if (rq->idle)
			uc_rq->value = se->value;
		if (bucket->tasks == 1 || se->value > bucket->value)
			bucket->value = se->value;
		if (se->value > uc_rq->value)
			uc_rq->value = se->value;
	}
	rq->idle = false;
}

static void ref_rq_dec(struct ref_rq *rq, struct ref_task *ref)
{
	enum uclamp_id clamp_id;
	int i;

	for_each_clamp_id(clamp_id) {
		struct uclamp_rq *uc_rq = &rq->uclamp[clamp_id];
		struct uclamp_se *se = &ref->uclamp[clamp_id];
		struct uclamp_bucket *bucket = &uc_rq->bucket[se->bucket_id];

		if (!se->active)
			continue;
		se->active = false;
		if (--bucket->tasks || bucket->value < uc_rq->value)
			continue;

		for (i = UCLAMP_BUCKETS - 1; i >= 0; i--) {
			if (uc_rq->bucket[i].tasks)
				break;
		}
		if (i >= 0) {
			uc_rq->value = uc_rq->bucket[i].value;
		} else if (clamp_id == UCLAMP_MAX) {
			rq->idle = true;
			uc_rq->value = se->value;
		} else {
			uc_rq->value = 0;
		}
	}
}

static void uc_reset_rq(struct uclamp_rq *uclamp)
{
	enum uclamp_id clamp_id;

	for_each_clamp_id(clamp_id)
		uclamp[clamp_id] = (struct uclamp_rq) { .value = uclamp_none(clamp_id) };
}

static void uc_reset_task(struct task_struct *p)
{
	enum uclamp_id clamp_id;

	p->policy = SCHED_NORMAL;
	p->sched_class = &fair_sched_class;
	p->se.sched_delayed = 0;
#ifdef CONFIG_CGROUP_SCHED
	p->sched_task_group = &root_task_group;
#endif
	for_each_clamp_id(clamp_id) {
		uclamp_se_set(&p->uclamp_req[clamp_id], uclamp_none(clamp_id), false);
		p->uclamp[clamp_id].active = false;
	}
	p->uclamp_req[UCLAMP_MAX].user = false;
	uclamp_invalidate_eff(p);
}

static struct uc_env *uc_env_alloc(struct kunit *test)
{
	struct uc_env *env = kunit_kzalloc(test, sizeof(*env), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, env);
	for (i = 0; i < UC_RQS; i++) {
		env->rq[i] = sched_test_rq_alloc(test, 0);
		KUNIT_ASSERT_NOT_NULL(test, env->rq[i]);
		uc_reset_rq(env->rq[i]->uclamp);
	}
	for (i = 0; i < UC_TASKS; i++) {
		env->task[i] = sched_test_task_alloc(test);
		KUNIT_ASSERT_NOT_NULL(test, env->task[i]);
		uc_reset_task(env->task[i]);
		env->on_rq[i] = -1;
	}
#ifdef CONFIG_UCLAMP_TASK_GROUP
	for (i = 0; i < UC_GROUPS; i++) {
		env->group[i] = kunit_kzalloc(test, sizeof(*env->group[i]), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, env->group[i]);
		uclamp_se_set(&env->group[i]->uclamp[UCLAMP_MAX], SCHED_CAPACITY_SCALE, false);
	}
#endif
	uc_reset_rq(env->ref_rq.uclamp);
	env->ref_rq.idle = true;
	sched_test_rnd_init(test, &env->rnd);

	return env;
}

/* The ends of the range and of a bucket are as likely as all the rest. */
static unsigned int uc_rnd_value(struct rnd_state *rnd)
{
	unsigned int values[] = {
		0, 1, UCLAMP_BUCKET_DELTA - 1, UCLAMP_BUCKET_DELTA, UCLAMP_BUCKET_DELTA + 1,
		512, 1023, 1024,
	};

	if (sched_test_rnd_bool(rnd))
		return values[sched_test_rnd_below(rnd, ARRAY_SIZE(values))];

	return sched_test_rnd_below(rnd, SCHED_CAPACITY_SCALE + 1);
}

/* Most tasks have no minimum and no maximum. */
static void uc_rnd_request(struct uc_env *env, struct task_struct *p)
{
	enum uclamp_id clamp_id;

	for_each_clamp_id(clamp_id) {
		unsigned int value = uclamp_none(clamp_id);

		if (!sched_test_rnd_below(&env->rnd, 3))
			value = uc_rnd_value(&env->rnd);
		uclamp_se_set(&p->uclamp_req[clamp_id], value,
			      sched_test_rnd_bool(&env->rnd));
	}
	uclamp_invalidate_eff(p);
}

/* System defaults and effective clamps of groups; of a group min <= max. */
static void uc_rnd_restrictions(struct uc_env *env)
{
	enum uclamp_id clamp_id;

	for_each_clamp_id(clamp_id)
		uclamp_se_set(&uclamp_default[clamp_id],
			      sched_test_rnd_bool(&env->rnd) ? SCHED_CAPACITY_SCALE :
							       uc_rnd_value(&env->rnd), false);
#ifdef CONFIG_UCLAMP_TASK_GROUP
	for (int i = 0; i < UC_GROUPS; i++) {
		unsigned int a = uc_rnd_value(&env->rnd), b = uc_rnd_value(&env->rnd);

		uclamp_se_set(&env->group[i]->uclamp[UCLAMP_MIN], min(a, b), false);
		uclamp_se_set(&env->group[i]->uclamp[UCLAMP_MAX], max(a, b), false);
	}
#endif
	uclamp_next_gen();
}

static void uc_rnd_group(struct uc_env *env, struct task_struct *p)
{
#ifdef CONFIG_UCLAMP_TASK_GROUP
	int i = sched_test_rnd_below(&env->rnd, UC_GROUPS + 1);

	p->sched_task_group = i < UC_GROUPS ? env->group[i] : &root_task_group;
#endif
	uclamp_invalidate_eff(p);
}

/*
 * With the accounting off and nobody about to turn it on: enable the key for the
 * runqueues made up here. Those of the CPUs count nothing without their flag.
 */
static void uc_begin(struct kunit *test, struct uc_env *env, bool key)
{
	mutex_lock(&uclamp_mutex);
	if (uclamp_state != UCLAMP_OFF || atomic_read(&uclamp_users)) {
		mutex_unlock(&uclamp_mutex);
		kunit_skip(test, "somebody uses clamps");
	}
	memcpy(env->default_before, uclamp_default, sizeof(uclamp_default));
	if (key)
		static_branch_enable(&sched_uclamp_used);
}

static void uc_end(struct uc_env *env)
{
	memcpy(uclamp_default, env->default_before, sizeof(uclamp_default));
	uclamp_next_gen();
	static_branch_disable(&sched_uclamp_used);
	mutex_unlock(&uclamp_mutex);
}

static unsigned int uc_tasks(struct uclamp_rq *uc_rq)
{
	unsigned int tasks = 0;
	int i;

	for (i = 0; i < UCLAMP_BUCKETS; i++)
		tasks += uc_rq->bucket[i].tasks;

	return tasks;
}

/* The values of an rq against the reference, and against the tasks themselves. */
static bool uc_rq_is_right(struct uc_env *env)
{
	struct uclamp_rq *min = &env->rq[0]->uclamp[UCLAMP_MIN], *ref_min;
	struct uclamp_rq *max = &env->rq[0]->uclamp[UCLAMP_MAX], *ref_max;
	unsigned int counted = 0, with_min = 0, largest_min = 0;
	int i;

	ref_min = &env->ref_rq.uclamp[UCLAMP_MIN];
	ref_max = &env->ref_rq.uclamp[UCLAMP_MAX];

	for (i = 0; i < UC_TASKS; i++) {
		struct uclamp_se *se = env->task[i]->uclamp;
		struct uclamp_se *ref = env->ref_task[i].uclamp;

		if (se[UCLAMP_MAX].active != ref[UCLAMP_MAX].active)
			return false;
		if (!se[UCLAMP_MAX].active)
			continue;
		if (se[UCLAMP_MIN].value != ref[UCLAMP_MIN].value ||
		    se[UCLAMP_MAX].value != ref[UCLAMP_MAX].value)
			return false;
		counted++;
		with_min += se[UCLAMP_MIN].value > 0;
		largest_min = max_t(unsigned int, largest_min, se[UCLAMP_MIN].value);
	}

	/* The maximum: the same in every bit. */
	if (max->value != ref_max->value || !max->used != env->ref_rq.idle)
		return false;
	for (i = 0; i < UCLAMP_BUCKETS; i++) {
		if (max->bucket[i].tasks != ref_max->bucket[i].tasks)
			return false;
		if (max->bucket[i].tasks && max->bucket[i].value != ref_max->bucket[i].value)
			return false;
	}
	if (uc_tasks(max) != counted || uc_tasks(min) != with_min)
		return false;

	/*
	 * The minimum: the same too, unless the reference's bucket 0 only has
	 * what a task left behind that is gone. Never less than a task needs,
	 * nor more than its bucket may have.
	 */
	if (min->value != ref_min->value &&
	    (uclamp_bucket_id(ref_min->value) || min->value > ref_min->value))
		return false;
	if (min->value < largest_min ||
	    uclamp_bucket_id(min->value) != uclamp_bucket_id(largest_min))
		return false;

	return with_min || !min->value;
}

static void uc_enqueue(struct uc_env *env, int i)
{
	uclamp_rq_inc(env->rq[0], env->task[i], 0);
	ref_rq_inc(&env->ref_rq, &env->ref_task[i], env->task[i]);
}

static void uc_dequeue(struct uc_env *env, int i)
{
	uclamp_rq_dec(env->rq[0], env->task[i]);
	ref_rq_dec(&env->ref_rq, &env->ref_task[i]);
}

/* Enqueue, dequeue, change requests, groups and defaults, of queued tasks too. */
static void uc_step(struct uc_env *env)
{
	int i = sched_test_rnd_below(&env->rnd, UC_TASKS);
	bool queued = env->on_rq[i] == 0;
	int t;

	switch (sched_test_rnd_below(&env->rnd, 16)) {
	case 0:
	case 1:
		if (queued)
			uc_dequeue(env, i);
		if (sched_test_rnd_bool(&env->rnd))
			uc_rnd_request(env, env->task[i]);
		else
			uc_rnd_group(env, env->task[i]);
		if (queued)
			uc_enqueue(env, i);
		break;
	case 2:
		/* All at once, as the handlers of sysctls and cgroup files do. */
		uc_rnd_restrictions(env);
		for (t = 0; t < UC_TASKS; t++) {
			if (env->on_rq[t] < 0)
				continue;
			uc_dequeue(env, t);
			uc_enqueue(env, t);
		}
		break;
	case 3:
		/* Dequeue with a delay: uncounted at once, and not once more. */
		if (!queued)
			break;
		uc_dequeue(env, i);
		env->task[i]->se.sched_delayed = 1;
		uclamp_rq_dec(env->rq[0], env->task[i]);
		uclamp_rq_inc(env->rq[0], env->task[i], 0);
		env->task[i]->se.sched_delayed = 0;
		env->on_rq[i] = -1;
		break;
	default:
		if (queued)
			uc_dequeue(env, i);
		else
			uc_enqueue(env, i);
		env->on_rq[i] = queued ? -1 : 0;
	}
}

static void rq_matches_reference(struct kunit *test)
{
	struct uc_env *env = uc_env_alloc(test);
	unsigned int wrong = 0, lower = 0, idle = 0;
	struct rq_flags rf;
	int i;

	uc_begin(test, env, true);
	env->rq[0]->uclamp_flags = UCLAMP_FLAG_ON;
	for (i = 0; i < UC_STEPS; i++) {
		rq_lock_irqsave(env->rq[0], &rf);
		uc_step(env);
		wrong += !uc_rq_is_right(env);
		rq_unlock_irqrestore(env->rq[0], &rf);

		lower += env->rq[0]->uclamp[UCLAMP_MIN].value <
			 env->ref_rq.uclamp[UCLAMP_MIN].value;
		idle += env->ref_rq.idle;
		/* Few tasks at times, so that an idle rq is not rare. */
		if (!(i % 64)) {
			int t;

			rq_lock_irqsave(env->rq[0], &rf);
			for (t = 0; t < UC_TASKS; t++) {
				if (env->on_rq[t] == 0)
					uc_dequeue(env, t);
				env->on_rq[t] = -1;
			}
			wrong += !uc_rq_is_right(env);
			rq_unlock_irqrestore(env->rq[0], &rf);
			cond_resched();
		}
	}
	uc_end(env);

	KUNIT_EXPECT_EQ(test, wrong, 0);
	/* Both happened: boosts left behind, and retained maxima. */
	KUNIT_EXPECT_GT(test, lower, 0);
	KUNIT_EXPECT_GT(test, idle, 0);
	kunit_info(test, "%u of %u times a minimum was not left behind", lower, UC_STEPS);
}

/* p->uclamp[] is what would be computed, whatever changed since it was. */
static void effective_clamps_are_current(struct kunit *test)
{
	struct uc_env *env = uc_env_alloc(test);
	unsigned int wrong = 0, kept = 0, gen;
	enum uclamp_id clamp_id;
	int i;

	uc_begin(test, env, false);
	for (i = 0; i < UC_STEPS; i++) {
		struct task_struct *p = env->task[sched_test_rnd_below(&env->rnd, UC_TASKS)];

		switch (sched_test_rnd_below(&env->rnd, 16)) {
		case 0:
			uc_rnd_restrictions(env);
			break;
		case 1:
			uc_rnd_group(env, p);
			break;
		case 2:
		case 3:
			uc_rnd_request(env, p);
			break;
		}
		kept += p->uclamp_gen == uclamp_gen;
		uclamp_eff_update(p);
		for_each_clamp_id(clamp_id) {
			struct uclamp_se want = ref_eff_get(p, clamp_id);

			wrong += p->uclamp[clamp_id].value != want.value ||
				 p->uclamp[clamp_id].bucket_id != want.bucket_id ||
				 p->uclamp[clamp_id].active;
		}
	}
	/* Around the end of the numbers. */
	gen = uclamp_gen;
	uclamp_gen = UINT_MAX;
	uclamp_next_gen();
	wrong += !uclamp_gen;
	uclamp_gen = gen;
	uc_end(env);

	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_GT(test, kept, UC_STEPS / 4);
}

/* Number of tasks on an rq that are counted on it. */
static bool uc_counts_are_right(struct uc_env *env)
{
	unsigned int counted[UC_RQS] = { };
	int i;

	for (i = 0; i < UC_TASKS; i++) {
		if (!env->task[i]->uclamp[UCLAMP_MAX].active)
			continue;
		if (env->on_rq[i] < 0)
			return false;
		counted[env->on_rq[i]]++;
	}
	for (i = 0; i < UC_RQS; i++) {
		if (uc_tasks(&env->rq[i]->uclamp[UCLAMP_MAX]) != counted[i])
			return false;
	}

	return true;
}

/* One step of a task, or of who turns the accounting on and off rq by rq. */
static void uc_state_step(struct uc_env *env)
{
	int i = sched_test_rnd_below(&env->rnd, UC_TASKS);
	int n = sched_test_rnd_below(&env->rnd, UC_RQS);
	struct task_struct *p = env->task[i];
	int from = env->on_rq[i];

	switch (sched_test_rnd_below(&env->rnd, 8)) {
	case 0:
		env->rq[n]->uclamp_flags ^= UCLAMP_FLAG_ON;
		break;
	case 1:
		/* The walk that counts what is queued. */
		if (from >= 0 && !env->exiting[i] && !p->uclamp[UCLAMP_MAX].active)
			uclamp_rq_inc(env->rq[from], p, 0);
		break;
	case 2:
		/* The walk that uncounts. */
		if (from >= 0 && !env->exiting[i])
			uclamp_rq_dec(env->rq[from], p);
		break;
	case 3:
		/* Not hashed any more: no walk will see it. */
		env->exiting[i] = true;
		break;
	default:
		if (from >= 0)
			uclamp_rq_dec(env->rq[from], p);
		env->on_rq[i] = -1;
		if (from >= 0 && env->exiting[i]) {
			/* That was its last time. A new task takes its place. */
			env->exiting[i] = false;
			uc_rnd_request(env, p);
			break;
		}
		if (sched_test_rnd_bool(&env->rnd)) {
			uclamp_rq_inc(env->rq[n], p, 0);
			env->on_rq[i] = n;
		}
	}
}

/*
 * Whatever tasks do while flags change: no count is lost or left over. Then turn
 * the accounting off: what the walk does not find uncounts itself.
 */
static void no_count_is_left_over(struct kunit *test)
{
	struct uc_env *env = uc_env_alloc(test);
	unsigned int wrong = 0, waited = 0;
	struct rq_flags rf;
	int i, n, round;

	uc_begin(test, env, true);
	for (i = 0; i < UC_TASKS; i++)
		uc_rnd_request(env, env->task[i]);

	for (round = 0; round < UC_ROUNDS; round++) {
		bool empty = true;

		/* One lock for all: these runqueues are nobody else's. */
		rq_lock_irqsave(env->rq[0], &rf);
		for (n = 1; n < UC_RQS; n++)
			raw_spin_rq_lock_nested(env->rq[n], SINGLE_DEPTH_NESTING + n);

		for (i = 0; i < 100; i++)
			uc_state_step(env);
		wrong += !uc_counts_are_right(env);

		for (n = 0; n < UC_RQS; n++)
			env->rq[n]->uclamp_flags = 0;
		for (i = 0; i < UC_TASKS; i++) {
			if (env->on_rq[i] >= 0 && !env->exiting[i])
				uclamp_rq_dec(env->rq[env->on_rq[i]], env->task[i]);
		}
		for (n = 0; n < UC_RQS; n++)
			empty &= uclamp_rq_reset(env->rq[n]);
		waited += !empty;
		wrong += !uc_counts_are_right(env);

		/* The exiting ones, and enqueues that must not count. */
		for (i = 0; i < UC_TASKS; i++) {
			if (env->on_rq[i] >= 0)
				uclamp_rq_dec(env->rq[env->on_rq[i]], env->task[i]);
			env->on_rq[i] = -1;
			env->exiting[i] = false;
			uclamp_rq_inc(env->rq[i % UC_RQS], env->task[i], 0);
			uclamp_rq_dec(env->rq[i % UC_RQS], env->task[i]);
		}
		for (n = 0; n < UC_RQS; n++) {
			wrong += !uclamp_rq_reset(env->rq[n]);
			wrong += uc_tasks(&env->rq[n]->uclamp[UCLAMP_MIN]);
			wrong += uc_tasks(&env->rq[n]->uclamp[UCLAMP_MAX]);
			wrong += env->rq[n]->uclamp[UCLAMP_MIN].value != 0;
			wrong += env->rq[n]->uclamp[UCLAMP_MAX].value != SCHED_CAPACITY_SCALE;
		}

		for (n = UC_RQS - 1; n > 0; n--)
			raw_spin_rq_unlock(env->rq[n]);
		rq_unlock_irqrestore(env->rq[0], &rf);
		cond_resched();
	}
	uc_end(env);

	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_GT(test, waited, 0);
}

/*
 * While the sites of the key are patched, in any order, one may be live and the
 * other one not. No flag is set then, and nothing may be counted.
 */
static void order_of_patching_does_not_matter(struct kunit *test)
{
	struct uc_env *env = uc_env_alloc(test);
	struct task_struct *p = env->task[0];
	unsigned int wrong = 0;
	struct rq_flags rf;
	int inc, dec;

	uc_begin(test, env, false);
	for (inc = 0; inc < 2; inc++) {
		for (dec = 0; dec < 2; dec++) {
			if (inc)
				static_branch_enable(&sched_uclamp_used);
			else
				static_branch_disable(&sched_uclamp_used);
			rq_lock_irqsave(env->rq[0], &rf);
			uclamp_rq_inc(env->rq[0], p, 0);
			wrong += p->uclamp[UCLAMP_MAX].active;
			rq_unlock_irqrestore(env->rq[0], &rf);

			if (dec)
				static_branch_enable(&sched_uclamp_used);
			else
				static_branch_disable(&sched_uclamp_used);
			rq_lock_irqsave(env->rq[0], &rf);
			uclamp_rq_dec(env->rq[0], p);
			wrong += uc_tasks(&env->rq[0]->uclamp[UCLAMP_MAX]);
			rq_unlock_irqrestore(env->rq[0], &rf);
		}
	}
	uc_end(env);

	KUNIT_EXPECT_EQ(test, wrong, 0);
}

/* By hand, not by the function under test. */
static bool ref_is_user(int policy, int min, int max, bool min_defined)
{
	if (max != 1024)
		return true;
	if (policy == SCHED_FIFO || policy == SCHED_RR)
		return min_defined && min != 1024;

	return min != 0;
}

/* Each task is one user or none, by its values and policy alone. */
static void users_are_counted_by_value(struct kunit *test)
{
	static const int policies[] = {
		SCHED_NORMAL, SCHED_BATCH, SCHED_IDLE, SCHED_FIFO, SCHED_RR, SCHED_DEADLINE,
	};
	struct uc_env *env = uc_env_alloc(test);
	unsigned int wrong = 0, most = 0;
	struct rq_flags rf;
	int i, t, want;

	/* The mutex keeps the work, which users start, from turning anything on. */
	uc_begin(test, env, false);
	for (i = 0; i < UC_STEPS; i++) {
		struct task_struct *p = env->task[sched_test_rnd_below(&env->rnd, UC_TASKS)];

		p->policy = policies[sched_test_rnd_below(&env->rnd, ARRAY_SIZE(policies))];
		/* Inherited priorities do not matter. */
		p->prio = sched_test_rnd_below(&env->rnd, MAX_PRIO);
		uc_rnd_request(env, p);
		if (!sched_test_rnd_below(&env->rnd, 16)) {
			sched_uclamp_free(p);
			uc_reset_task(p);
		}

		sched_test_set_task_cpu(p, 0);
		rq_lock_irqsave(cpu_rq(0), &rf);
		uclamp_sync_task(p);
		uclamp_sync_task(p);
		rq_unlock_irqrestore(cpu_rq(0), &rf);

		for (t = 0, want = 0; t < UC_TASKS; t++) {
			p = env->task[t];
			want += ref_is_user(p->policy, p->uclamp_req[UCLAMP_MIN].value,
					    p->uclamp_req[UCLAMP_MAX].value,
					    p->uclamp_req[UCLAMP_MIN].user_defined);
		}
		wrong += atomic_read(&uclamp_users) != want;
		most = max_t(unsigned int, most, want);
	}
	for (t = 0; t < UC_TASKS; t++)
		sched_uclamp_free(env->task[t]);
	wrong += atomic_read(&uclamp_users) != 0;
	uc_end(env);

	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_GT(test, most, UC_TASKS / 2);
}

/* Real tasks */

static int uc_spin(void *unused)
{
	while (!kthread_should_stop()) {
		cpu_relax();
		cond_resched();
	}

	return 0;
}

static void uc_stop(void *task)
{
	kthread_stop(task);
}

/* Stopped at the end of the test, however that comes. */
static struct task_struct *uc_spin_on(struct kunit *test, int cpu, bool fifo)
{
	struct task_struct *p = kthread_create(uc_spin, NULL, "uclamp_kunit/%d", cpu);

	KUNIT_ASSERT_FALSE(test, IS_ERR(p));
	kthread_bind(p, cpu);
	if (fifo)
		sched_set_fifo_low(p);
	wake_up_process(p);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, uc_stop, p), 0);

	return p;
}

static int uc_set(struct task_struct *p, int min, int max)
{
	struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = p->policy,
		.sched_priority = p->rt_priority,
		.sched_nice = task_nice(p),
		.sched_flags = SCHED_FLAG_KEEP_ALL | SCHED_FLAG_UTIL_CLAMP,
		.sched_util_min = min,
		.sched_util_max = max,
	};

	return sched_setattr_nocheck(p, &attr);
}

static void uc_need_off(struct kunit *test)
{
	if (READ_ONCE(uclamp_state) != UCLAMP_OFF || atomic_read(&uclamp_users))
		kunit_skip(test, "somebody uses clamps");
}

/* Return: how long it took, in ms. */
static unsigned int uc_wait_off(struct kunit *test)
{
	unsigned long start = jiffies;

	while (READ_ONCE(uclamp_state) != UCLAMP_OFF && time_before(jiffies, start + 30 * HZ))
		schedule_timeout_uninterruptible(1);

	return jiffies_to_msecs(jiffies - start);
}

static void uc_expect_off(struct kunit *test)
{
	unsigned int cpu;

	guard(mutex)(&uclamp_mutex);
	KUNIT_EXPECT_EQ(test, (int)uclamp_state, (int)UCLAMP_OFF);
	KUNIT_EXPECT_FALSE(test, static_key_enabled(&sched_uclamp_used));
	KUNIT_EXPECT_EQ(test, atomic_read(&uclamp_users), 0);
	for_each_possible_cpu(cpu) {
		struct rq *rq = cpu_rq(cpu);

		KUNIT_EXPECT_EQ(test, rq->uclamp_flags, 0);
		KUNIT_EXPECT_EQ(test, uc_tasks(&rq->uclamp[UCLAMP_MIN]), 0);
		KUNIT_EXPECT_EQ(test, uc_tasks(&rq->uclamp[UCLAMP_MAX]), 0);
		KUNIT_EXPECT_EQ(test, rq->uclamp[UCLAMP_MIN].value, 0);
		KUNIT_EXPECT_EQ(test, rq->uclamp[UCLAMP_MAX].value, SCHED_CAPACITY_SCALE);
	}
}

static int uc_active(struct task_struct *p)
{
	guard(task_rq_lock)(p);
	return p->uclamp[UCLAMP_MAX].active;
}

/* A task that runs already is counted when it gets a clamp, and so are others. */
static void on_and_off_with_running_tasks(struct kunit *test)
{
	int cpu = cpumask_last(cpu_active_mask);
	struct task_struct *p, *other;
	unsigned int ms;
	int i;

	uc_need_off(test);
	p = uc_spin_on(test, cpu, false);
	other = uc_spin_on(test, cpu, false);

	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, uc_set(p, 300, 512), 0);
		KUNIT_EXPECT_EQ(test, (int)READ_ONCE(uclamp_state), (int)UCLAMP_ON);
		KUNIT_EXPECT_TRUE(test, static_key_enabled(&sched_uclamp_used));
		KUNIT_EXPECT_EQ(test, atomic_read(&uclamp_users), 1);
		KUNIT_EXPECT_TRUE(test, uc_active(p));
		KUNIT_EXPECT_TRUE(test, uc_active(other));
		KUNIT_EXPECT_EQ(test, uclamp_rq_get(cpu_rq(cpu), UCLAMP_MIN), 300);
		/* The other one has no maximum. */
		KUNIT_EXPECT_EQ(test, uclamp_rq_get(cpu_rq(cpu), UCLAMP_MAX), 1024);

		/* A request for the default is none. */
		KUNIT_EXPECT_EQ(test, i ? uc_set(p, -1, -1) : uc_set(p, 0, 1024), 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&uclamp_users), 0);
		ms = uc_wait_off(test);
		KUNIT_EXPECT_LT(test, ms, 20000);
		kunit_info(test, "off after %u ms", ms);
		uc_expect_off(test);
		KUNIT_EXPECT_FALSE(test, uc_active(p));
	}
}

static void what_fails_or_asks_for_nothing_does_not_turn_it_on(struct kunit *test)
{
	struct task_struct *p;

	uc_need_off(test);
	p = uc_spin_on(test, cpumask_last(cpu_active_mask), false);

	/* Of earlier users. */
	flush_delayed_work(&uclamp_work);

	KUNIT_EXPECT_EQ(test, uc_set(p, 600, 500), -EINVAL);
	KUNIT_EXPECT_EQ(test, uc_set(p, 0, 1025), -EINVAL);
	KUNIT_EXPECT_EQ(test, uc_set(p, -1, -1), 0);
	KUNIT_EXPECT_EQ(test, uc_set(p, 0, 1024), 0);
	KUNIT_EXPECT_EQ(test, uc_set(p, 0, -1), 0);
	uc_expect_off(test);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&uclamp_work));
}

static void uc_reset(void *task)
{
	uc_set(task, -1, -1);
}

struct uc_sampler {
	int cpu;
	unsigned long scale;
	unsigned int samples[3];	/* by state */
	unsigned int unboosted;
};

/* What a governor on another CPU sees; as there, without being preempted. */
static int uc_sample(void *data)
{
	struct uc_sampler *sampler = data;
	struct rq *rq = cpu_rq(sampler->cpu);
	unsigned long min, max;

	while (!kthread_should_stop()) {
		scoped_guard (preempt) {
			effective_cpu_util(sampler->cpu, 0, &min, &max);
			sampler->unboosted += min < sampler->scale && rt_rq_is_runnable(&rq->rt);
		}
		sampler->samples[READ_ONCE(uclamp_state)]++;
		cond_resched();
	}

	return 0;
}

/* An RT task runs at maximum while the accounting goes on, is on, and goes off. */
static void rt_boost_never_breaks(struct kunit *test)
{
	int first = cpumask_first(cpu_active_mask), i;
	struct task_struct *user, *watcher;
	struct uc_env *env = uc_env_alloc(test);
	unsigned long min, max;
	struct uc_sampler *sampler;

	uc_need_off(test);
	if (num_active_cpus() < 2)
		kunit_skip(test, "needs two CPUs");

	sampler = kunit_kzalloc(test, sizeof(*sampler), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, sampler);
	sampler->cpu = cpumask_last(cpu_active_mask);
	sampler->scale = arch_scale_cpu_capacity(sampler->cpu);

	user = uc_spin_on(test, first, false);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, uc_reset, user), 0);
	uc_spin_on(test, sampler->cpu, true);
	for (i = 0; i < 10 * HZ && !rt_rq_is_runnable(&cpu_rq(sampler->cpu)->rt); i++)
		schedule_timeout_uninterruptible(1);

	watcher = kthread_create(uc_sample, sampler, "uclamp_kunit/s");
	KUNIT_ASSERT_FALSE(test, IS_ERR(watcher));
	kthread_bind(watcher, first);
	wake_up_process(watcher);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, uc_stop, watcher), 0);

	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, uc_set(user, 0, 512), 0);
		schedule_timeout_uninterruptible(HZ / 10);
		uc_reset(user);
		uc_wait_off(test);
		schedule_timeout_uninterruptible(HZ / 10);
	}

	/* Held between two states: the key is enabled, nothing is counted. */
	uc_begin(test, env, true);
	effective_cpu_util(sampler->cpu, 0, &min, &max);
	uc_end(env);
	KUNIT_EXPECT_EQ(test, min, sampler->scale);
	KUNIT_EXPECT_EQ(test, max, sampler->scale);

	KUNIT_EXPECT_EQ(test, sampler->unboosted, 0);
	KUNIT_EXPECT_GT(test, sampler->samples[UCLAMP_OFF], 0);
	KUNIT_EXPECT_GT(test, sampler->samples[UCLAMP_ON], 0);
	kunit_info(test, "samples: off %u, on %u, drain %u", sampler->samples[UCLAMP_OFF],
		   sampler->samples[UCLAMP_ON], sampler->samples[UCLAMP_DRAIN]);
}

/* Sums that are there are not read unless they are complete. */
static void values_are_read_when_valid_only(struct kunit *test)
{
	struct uc_env *env = uc_env_alloc(test);
	unsigned int flags, wrong = 0;
	struct rq *rq = env->rq[0];

	uc_begin(test, env, true);
	rq->uclamp[UCLAMP_MIN].value = 100;
	rq->uclamp[UCLAMP_MAX].value = 200;
	for (flags = 0; flags < 4; flags++) {
		bool valid = flags & UCLAMP_FLAG_VALID;
		unsigned long value = 7;

		rq->uclamp_flags = flags;
		wrong += uclamp_rq_get(rq, UCLAMP_MIN) != (valid ? 100 : 0);
		wrong += uclamp_rq_get(rq, UCLAMP_MAX) != (valid ? 200 : 1024);
		wrong += uclamp_rq_read(rq, UCLAMP_MIN, &value) != valid;
		wrong += value != (valid ? 100 : 7);
		wrong += uclamp_rq_is_idle(rq) != valid;
	}
	uc_end(env);

	KUNIT_EXPECT_EQ(test, wrong, 0);
}

#ifdef CONFIG_CPU_FREQ
struct uc_hook {
	struct update_util_data data;
	struct task_struct *p;
	unsigned int enqueues;
	unsigned int clamped;
};

/* Called as schedutil is, under the rq lock. */
static void uc_hook_fn(struct update_util_data *data, u64 time, unsigned int flags)
{
	struct uc_hook *hook = container_of(data, struct uc_hook, data);
	struct task_struct *p = hook->p;

	/* Only while it is enqueued: on_rq is set when its class has done so. */
	if (READ_ONCE(p->__state) != TASK_WAKING || p->on_rq)
		return;
	hook->enqueues++;
	hook->clamped += uclamp_rq_get(task_rq(p), UCLAMP_MIN) == 800;
}

static int uc_nap(void *unused)
{
	while (!kthread_should_stop())
		schedule_timeout_interruptible(msecs_to_jiffies(20));

	return 0;
}

/* When a task wakes up, schedutil is called with its clamp, not with the last. */
static void frequency_is_chosen_with_the_clamp(struct kunit *test)
{
	int cpu = cpumask_last(cpu_active_mask);
	struct uc_hook *hook;

	uc_need_off(test);
	if (per_cpu(cpufreq_update_util_data, cpu))
		kunit_skip(test, "a governor is there");

	hook = kunit_kzalloc(test, sizeof(*hook), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, hook);
	hook->p = kthread_create(uc_nap, NULL, "uclamp_kunit/%d", cpu);
	KUNIT_ASSERT_FALSE(test, IS_ERR(hook->p));
	kthread_bind(hook->p, cpu);
	wake_up_process(hook->p);
	KUNIT_EXPECT_EQ(test, uc_set(hook->p, 800, 1024), 0);

	cpufreq_add_update_util_hook(cpu, &hook->data, uc_hook_fn);
	schedule_timeout_uninterruptible(HZ);
	cpufreq_remove_update_util_hook(cpu);
	synchronize_rcu();
	kthread_stop(hook->p);

	/* Now and then another one may be enqueued in between. */
	KUNIT_EXPECT_GT(test, hook->enqueues, 0);
	KUNIT_EXPECT_GE(test, hook->clamped * 2, hook->enqueues);
	kunit_info(test, "%u of %u times", hook->clamped, hook->enqueues);
	uc_wait_off(test);
}
#endif

static struct kunit_case sched_uclamp_cases[] = {
	KUNIT_CASE_SLOW(rq_matches_reference),
	KUNIT_CASE(effective_clamps_are_current),
	KUNIT_CASE_SLOW(no_count_is_left_over),
	KUNIT_CASE(order_of_patching_does_not_matter),
	KUNIT_CASE(values_are_read_when_valid_only),
	KUNIT_CASE_SLOW(users_are_counted_by_value),
	KUNIT_CASE_SLOW(on_and_off_with_running_tasks),
	KUNIT_CASE(what_fails_or_asks_for_nothing_does_not_turn_it_on),
	KUNIT_CASE_SLOW(rt_boost_never_breaks),
#ifdef CONFIG_CPU_FREQ
	KUNIT_CASE_SLOW(frequency_is_chosen_with_the_clamp),
#endif
	{ }
};

static struct kunit_suite sched_uclamp_suite = {
	.name = "sched_uclamp",
	.test_cases = sched_uclamp_cases,
};

kunit_test_suite(sched_uclamp_suite);
