// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the walk that ages the blocked averages of task groups.
 * Included at the end of fair.c.
 *
 * ref_update_blocked_fair() is the walk of the kernel before it aged each
 * parent once and the groups once per PELT period. Both are given the same
 * random groups on a runqueue of the test's own.
 */
#include "compat.h"

#if defined(CONFIG_SMP) && defined(CONFIG_FAIR_GROUP_SCHED)

#define BLOCKED_GROUPS	24
#define BLOCKED_STATES	100000
#define BLOCKED_WALKS	8
#define PELT_PERIOD	BIT_ULL(20)

struct blocked_group {
	struct task_group	tg;
	struct cfs_rq		cfs_rq;
	struct sched_entity	se;
};

struct blocked_state {
	struct blocked_group	group[BLOCKED_GROUPS];
	struct cfs_rq		root;
};

struct blocked_env {
	struct rq		*rq;
	struct blocked_state	*now;	/* what rq's tree is made of */
	struct blocked_state	*saved;
	struct blocked_state	*ref;
	int			parent[BLOCKED_GROUPS];
	struct cfs_rq		*cfs_rq[BLOCKED_GROUPS];
	struct sched_entity	*se[BLOCKED_GROUPS];
};

static bool ref_update_blocked_fair(struct rq *rq, bool *done)
{
	struct cfs_rq *cfs_rq, *pos;
	bool decayed = false;
	int cpu = cpu_of(rq);

	for_each_leaf_cfs_rq_safe(rq, cfs_rq, pos) {
		struct sched_entity *se;

		if (update_cfs_rq_load_avg(cfs_rq_clock_pelt(cfs_rq), cfs_rq)) {
			update_tg_load_avg(cfs_rq);

			if (cfs_rq->nr_running == 0)
				update_idle_cfs_rq_clock_pelt(cfs_rq);

			if (cfs_rq == &rq->cfs)
				decayed = true;
		}

		se = cfs_rq->tg->se[cpu];
		if (se && !skip_blocked_update(se))
			update_load_avg(cfs_rq_of(se), se, UPDATE_TG);

		if (se && cfs_rq_is_decayed(cfs_rq))
			list_del_leaf_cfs_rq(cfs_rq);

		if (cfs_rq_has_blocked(cfs_rq))
			*done = false;
	}

	return decayed;
}

/* Averages as after an update at @lut, and sums that fit them. */
static void blocked_random_avg(struct rnd_state *rnd, struct sched_avg *sa, u64 lut,
			       bool group_se)
{
	u32 divider;

	memset(sa, 0, sizeof(*sa));
	sa->last_update_time = lut;
	sa->period_contrib = (lut >> 10) & 1023;
	if (!sched_test_rnd_below(rnd, 4))
		return;

	divider = get_pelt_divider(sa);
	sa->util_avg = sched_test_rnd_below(rnd, 1025);
	sa->runnable_avg = sched_test_rnd_below(rnd, 3000);
	sa->util_sum = sa->util_avg * divider + sched_test_rnd_below(rnd, divider);
	sa->runnable_sum = sa->runnable_avg * divider + sched_test_rnd_below(rnd, divider);
	if (group_se) {
		sa->load_sum = sched_test_rnd_below(rnd, divider);
		sa->load_avg = sched_test_rnd_below(rnd, 1025);
	} else {
		sa->load_avg = sched_test_rnd_below(rnd, 5000);
		sa->load_sum = (u64)sa->load_avg * divider + sched_test_rnd_below(rnd, divider);
	}
}

/*
 * Groups below each other and below the root. Only blocked ones, or runnable
 * ones among them. @pending: some with a load change to propagate.
 */
static void blocked_random_state(struct blocked_env *env, struct rnd_state *rnd,
				 bool runnable, bool pending)
{
	u64 now = PELT_PERIOD * 5000 + sched_test_rnd_below(rnd, 1 << 30);
	struct rq *rq = env->rq;
	int i;

	rq->clock_pelt = now;
	rq->clock = now;
	rq->clock_task = now;
	rq->blocked_period = U64_MAX;

	INIT_LIST_HEAD(&rq->cfs.children);
	blocked_random_avg(rnd, &rq->cfs.avg, ALIGN_DOWN(now, 1024), false);
	rq->cfs.propagate = 0;
	rq->cfs.prop_runnable_sum = 0;

	for (i = 0; i < BLOCKED_GROUPS; i++) {
		struct blocked_group *group = &env->now->group[i];
		int parent = (int)sched_test_rnd_below(rnd, i + 1) - 1;
		struct cfs_rq *cfs_rq = &group->cfs_rq;
		struct sched_entity *se = &group->se;
		u64 lut;

		memset(group, 0, sizeof(*group));
		env->parent[i] = parent;
		env->cfs_rq[i] = cfs_rq;
		env->se[i] = se;

		init_cfs_rq(cfs_rq);
		cfs_rq->rq = rq;
		cfs_rq->tg = &group->tg;
		/* So that se[cpu] and cfs_rq[cpu] are those of this group. */
		group->tg.cfs_rq = &env->cfs_rq[i] - cpu_of(rq);
		group->tg.se = &env->se[i] - cpu_of(rq);

		se->my_q = cfs_rq;
		se->load.weight = NICE_0_LOAD;
		if (parent < 0) {
			se->cfs_rq = &rq->cfs;
		} else {
			se->parent = &env->now->group[parent].se;
			se->cfs_rq = &env->now->group[parent].cfs_rq;
		}

		lut = now - sched_test_rnd_below(rnd, 40) * PELT_PERIOD -
		      sched_test_rnd_below(rnd, PELT_PERIOD);
		lut = ALIGN_DOWN(lut, 1024);
		blocked_random_avg(rnd, &cfs_rq->avg, lut, false);
		blocked_random_avg(rnd, &se->avg, lut, true);
		cfs_rq->tg_load_avg_contrib = cfs_rq->avg.load_avg;
		atomic_long_set(&group->tg.load_avg, cfs_rq->tg_load_avg_contrib);

		if (runnable && sched_test_rnd_bool(rnd)) {
			cfs_rq->nr_running = 1 + sched_test_rnd_below(rnd, 5);
			cfs_rq->h_nr_queued = cfs_rq->nr_running;
			cfs_rq->h_nr_runnable = cfs_rq->nr_running;
			cfs_rq->load.weight = cfs_rq->nr_running * NICE_0_LOAD;
			se->on_rq = 1;
			se->runnable_weight = cfs_rq->h_nr_runnable;
		}
		if (pending && !sched_test_rnd_below(rnd, 4)) {
			cfs_rq->removed.nr = 1;
			cfs_rq->removed.load_avg = sched_test_rnd_below(rnd, 1000);
			cfs_rq->removed.util_avg = sched_test_rnd_below(rnd, 500);
			cfs_rq->removed.runnable_avg = sched_test_rnd_below(rnd, 500);
		}
		if (pending && !sched_test_rnd_below(rnd, 4)) {
			cfs_rq->propagate = 1;
			cfs_rq->prop_runnable_sum =
				(long)sched_test_rnd_below(rnd, 40000) - 20000;
		}
		list_add_leaf_cfs_rq(cfs_rq);
	}
}

static void blocked_save(struct blocked_env *env, struct blocked_state *to)
{
	*to = *env->now;
	to->root = env->rq->cfs;
}

static void blocked_restore(struct blocked_env *env)
{
	*env->now = *env->saved;
	env->rq->cfs = env->saved->root;
	env->rq->blocked_period = U64_MAX;
}

static bool blocked_avg_equal(struct cfs_rq *a, struct cfs_rq *b)
{
	return !memcmp(&a->avg, &b->avg, sizeof(a->avg)) &&
	       a->propagate == b->propagate &&
	       a->prop_runnable_sum == b->prop_runnable_sum &&
	       a->removed.nr == b->removed.nr;
}

/* The number of groups that differ from the reference, the root is one. */
static int blocked_differ(struct blocked_env *env)
{
	int i, differ = !blocked_avg_equal(&env->rq->cfs, &env->ref->root);

	for (i = 0; i < BLOCKED_GROUPS; i++) {
		struct blocked_group *a = &env->now->group[i];
		struct blocked_group *b = &env->ref->group[i];

		if (!blocked_avg_equal(&a->cfs_rq, &b->cfs_rq) ||
		    memcmp(&a->se.avg, &b->se.avg, sizeof(a->se.avg)) ||
		    atomic_long_read(&a->tg.load_avg) != a->cfs_rq.tg_load_avg_contrib)
			differ++;
	}

	return differ;
}

static struct blocked_env *blocked_env_alloc(struct kunit *test)
{
	struct blocked_env *env = kunit_kzalloc(test, sizeof(*env), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, env);
	env->rq = sched_test_rq_alloc(test, 0);
	env->now = kunit_kzalloc(test, sizeof(*env->now), GFP_KERNEL);
	env->saved = kunit_kzalloc(test, sizeof(*env->saved), GFP_KERNEL);
	env->ref = kunit_kzalloc(test, sizeof(*env->ref), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, env->rq);
	KUNIT_ASSERT_NOT_NULL(test, env->now);
	KUNIT_ASSERT_NOT_NULL(test, env->saved);
	KUNIT_ASSERT_NOT_NULL(test, env->ref);

	return env;
}

/* One whole walk: the same averages, to the bit, whatever there is to age. */
static void blocked_walk_matches_reference(struct kunit *test)
{
	struct blocked_env *env = blocked_env_alloc(test);
	int state, differ = 0, returned = 0;
	struct rnd_state rnd;

	sched_test_rnd_init(test, &rnd);
	for (state = 0; state < BLOCKED_STATES / BLOCKED_GROUPS; state++) {
		bool done = true, ref_done = true;
		unsigned long flags;

		raw_spin_rq_lock_irqsave(env->rq, flags);
		blocked_random_state(env, &rnd, true, true);
		blocked_save(env, env->saved);
		if (ref_update_blocked_fair(env->rq, &ref_done))
			returned++;
		blocked_save(env, env->ref);

		blocked_restore(env);
		if (__update_blocked_fair(env->rq, &done))
			returned--;
		differ += blocked_differ(env) + (done != ref_done);
		raw_spin_rq_unlock_irqrestore(env->rq, flags);
		cond_resched();
	}
	KUNIT_EXPECT_EQ(test, differ, 0);
	KUNIT_EXPECT_EQ(test, returned, 0);
}

/*
 * Many walks per period: the reference ages in each, the gate only in the first
 * of a period. After the next period began, blocked groups are equal again.
 */
static void blocked_gate_matches_reference(struct kunit *test)
{
	struct blocked_env *env = blocked_env_alloc(test);
	int state, differ = 0, skipped = 0;
	u32 step[BLOCKED_WALKS];
	struct rnd_state rnd;

	sched_test_rnd_init(test, &rnd);
	for (state = 0; state < BLOCKED_STATES / BLOCKED_GROUPS; state++) {
		bool done = true;
		unsigned long flags;
		u64 start;
		int i;

		raw_spin_rq_lock_irqsave(env->rq, flags);
		blocked_random_state(env, &rnd, false, false);
		blocked_save(env, env->saved);
		start = env->rq->clock_pelt;
		for (i = 0; i < BLOCKED_WALKS - 1; i++)
			step[i] = sched_test_rnd_below(&rnd, PELT_PERIOD / 4);
		step[i] = PELT_PERIOD;

		for (i = 0; i < BLOCKED_WALKS; i++) {
			env->rq->clock_pelt += step[i];
			ref_update_blocked_fair(env->rq, &done);
		}
		blocked_save(env, env->ref);

		blocked_restore(env);
		env->rq->clock_pelt = start;
		for (i = 0; i < BLOCKED_WALKS; i++) {
			env->rq->clock_pelt += step[i];
			done = true;
			if (env->rq->clock_pelt >> 20 == env->rq->blocked_period) {
				__update_blocked_fair(env->rq, &done);
				/* It has not looked, so it must not say so. */
				skipped++;
				differ += done;
			} else {
				__update_blocked_fair(env->rq, &done);
			}
		}
		differ += blocked_differ(env);
		raw_spin_rq_unlock_irqrestore(env->rq, flags);
		cond_resched();
	}
	KUNIT_EXPECT_EQ(test, differ, 0);
	KUNIT_EXPECT_GT(test, skipped, 0);
}

/* Load removed from a group leaves it and the root in a walk that is skipped. */
static void blocked_removed_load_is_not_skipped(struct kunit *test)
{
	struct blocked_env *env = blocked_env_alloc(test);
	struct rnd_state rnd;
	int state, late = 0;

	sched_test_rnd_init(test, &rnd);
	for (state = 0; state < 1000; state++) {
		int which = sched_test_rnd_below(&rnd, BLOCKED_GROUPS);
		struct cfs_rq *cfs_rq = &env->now->group[which].cfs_rq;
		struct sched_entity task = { };
		unsigned long flags;
		bool done = true;

		raw_spin_rq_lock_irqsave(env->rq, flags);
		blocked_random_state(env, &rnd, false, false);
		__update_blocked_fair(env->rq, &done);

		task.cfs_rq = cfs_rq;
		task.load.weight = NICE_0_LOAD;
		task.avg.last_update_time = cfs_rq->avg.last_update_time;
		task.avg.util_avg = 1 + sched_test_rnd_below(&rnd, 100);
		remove_entity_load_avg(&task);
		remove_entity_load_avg(&task);

		__update_blocked_fair(env->rq, &done);
		if (cfs_rq->on_list && cfs_rq->removed.nr)
			late++;
		if (cfs_rq->removed.queued || !llist_empty(&env->rq->removed_cfs_rqs))
			late++;
		for (; cfs_rq != &env->rq->cfs; cfs_rq = parent_cfs_rq(cfs_rq)) {
			if (cfs_rq->on_list && cfs_rq->propagate)
				late++;
		}
		raw_spin_rq_unlock_irqrestore(env->rq, flags);
	}
	KUNIT_EXPECT_EQ(test, late, 0);
}

/* Each in the tree once, before its parent, and the root last. */
static int blocked_tree_faults(struct blocked_env *env)
{
	bool seen[BLOCKED_GROUPS] = { };
	struct cfs_rq *cfs_rq, *pos, *last = NULL;
	int i, faults = 0, visits = 0;

	for_each_leaf_cfs_rq_safe(env->rq, cfs_rq, pos) {
		last = cfs_rq;
		if (++visits > BLOCKED_GROUPS + 1)
			return faults + 1;
		if (cfs_rq == &env->rq->cfs)
			continue;

		i = container_of(cfs_rq, struct blocked_group, cfs_rq) - env->now->group;
		faults += seen[i] || !cfs_rq->on_list;
		faults += env->parent[i] >= 0 && seen[env->parent[i]];
		seen[i] = true;
	}
	for (i = 0; i < BLOCKED_GROUPS; i++)
		faults += seen[i] != !!env->now->group[i].cfs_rq.on_list;

	return faults + (last != &env->rq->cfs);
}

static void blocked_tree_stays_a_tree(struct kunit *test)
{
	struct blocked_env *env = blocked_env_alloc(test);
	struct rnd_state rnd;
	int op, i, faults = 0;
	unsigned long flags;

	sched_test_rnd_init(test, &rnd);
	raw_spin_rq_lock_irqsave(env->rq, flags);
	blocked_random_state(env, &rnd, false, false);
	raw_spin_rq_unlock_irqrestore(env->rq, flags);

	for (op = 0; op < BLOCKED_STATES; op++) {
		struct cfs_rq *cfs_rq;

		raw_spin_rq_lock_irqsave(env->rq, flags);
		i = sched_test_rnd_below(&rnd, BLOCKED_GROUPS);
		cfs_rq = &env->now->group[i].cfs_rq;
		if (sched_test_rnd_bool(&rnd)) {
			list_add_leaf_cfs_rq(cfs_rq);
			/* and all above it */
			for (; i >= 0; i = env->parent[i])
				faults += !env->now->group[i].cfs_rq.on_list;
		} else if (list_empty(&cfs_rq->children)) {
			list_del_leaf_cfs_rq(cfs_rq);
		}
		faults += blocked_tree_faults(env);
		raw_spin_rq_unlock_irqrestore(env->rq, flags);
	}
	KUNIT_EXPECT_EQ(test, faults, 0);
}

static int blocked_gate_on(struct kunit *test)
{
	int err = sched_test_save_feats(test);

	if (!err)
		sched_test_set_feat(__SCHED_FEAT_BLOCKED_GATE, true);

	return err;
}

static struct kunit_case sched_blocked_cases[] = {
	KUNIT_CASE_SLOW(blocked_walk_matches_reference),
	KUNIT_CASE_SLOW(blocked_gate_matches_reference),
	KUNIT_CASE(blocked_removed_load_is_not_skipped),
	KUNIT_CASE_SLOW(blocked_tree_stays_a_tree),
	{ }
};

static struct kunit_suite sched_blocked_suite = {
	.name = "sched_blocked",
	.init = blocked_gate_on,
	.test_cases = sched_blocked_cases,
};

kunit_test_suite(sched_blocked_suite);

#endif /* CONFIG_SMP && CONFIG_FAIR_GROUP_SCHED */
