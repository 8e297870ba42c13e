// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of wakeup preemption and of RUN_TO_PARITY_WAKEUP. Included at the
 * end of fair.c.
 *
 * With the feature off the decision must be that of the kernel without it, for
 * every input: the ref_*() functions are that kernel's, and random runqueues
 * are given to both. With it on, the only difference allowed is a current
 * entity inside its slice that stays.
 */
#include "compat.h"

/* Without group scheduling cfs_rq_of() finds a CPU's own runqueue, not ours. */
#ifdef CONFIG_FAIR_GROUP_SCHED

#define EEVDF_MAX_QUEUED	64
#define EEVDF_CURRS_PER_TREE	8
/* Trees per combination of features; half of the 16 have the feature off. */
#define EEVDF_TREES		1600
#define EEVDF_REWEIGHTS		100000

static struct sched_entity *ref_pick_eevdf(struct cfs_rq *cfs_rq)
{
	struct rb_node *node = cfs_rq->tasks_timeline.rb_root.rb_node;
	struct sched_entity *se = __pick_first_entity(cfs_rq);
	struct sched_entity *curr = cfs_rq->curr;
	struct sched_entity *best = NULL;

	if (cfs_rq->nr_running == 1)
		return curr && curr->on_rq ? curr : se;

	if (curr && (!curr->on_rq || !entity_eligible(cfs_rq, curr)))
		curr = NULL;

	if (sched_feat(RUN_TO_PARITY) && curr && protect_slice(curr))
		return curr;

	if (se && entity_eligible(cfs_rq, se)) {
		best = se;
		goto found;
	}

	while (node) {
		struct rb_node *left = node->rb_left;

		if (left && vruntime_eligible(cfs_rq, __node_2_se(left)->min_vruntime)) {
			node = left;
			continue;
		}

		se = __node_2_se(node);

		if (entity_eligible(cfs_rq, se)) {
			best = se;
			break;
		}

		node = node->rb_right;
	}
found:
	if (!best || (curr && entity_before(curr, best)))
		best = curr;

	return best;
}

static void ref_reweight_entity(struct cfs_rq *cfs_rq, struct sched_entity *se,
				unsigned long weight)
{
	bool curr = cfs_rq->curr == se;
	u64 avruntime;

	if (se->on_rq) {
		update_curr(cfs_rq);
		avruntime = avg_vruntime(cfs_rq);
		if (!curr)
			__dequeue_entity(cfs_rq, se);
		update_load_sub(&cfs_rq->load, se->load.weight);
	}
	dequeue_load_avg(cfs_rq, se);

	if (se->on_rq)
		reweight_eevdf(se, avruntime, weight);
	else
		se->vlag = div_s64(se->vlag * se->load.weight, weight);

	update_load_set(&se->load, weight);

#ifdef CONFIG_SMP
	do {
		u32 divider = get_pelt_divider(&se->avg);

		se->avg.load_avg = div_u64(se_weight(se) * se->avg.load_sum, divider);
	} while (0);
#endif

	enqueue_load_avg(cfs_rq, se);
	if (se->on_rq) {
		update_load_add(&cfs_rq->load, se->load.weight);
		if (!curr)
			__enqueue_entity(cfs_rq, se);
	}
}

enum ref_verdict {
	REF_STAYS,
	REF_IDLE_PREEMPTED,	/* an idle entity makes room for a normal one */
	REF_PICK_KEPT,		/* the pick did not return the wakee */
	REF_PICK_PREEMPTED,	/* it did */
};

/* check_preempt_wakeup_fair(), with a verdict in place of resched_curr(). */
static enum ref_verdict ref_check_preempt(struct rq *rq, struct task_struct *p, int wake_flags)
{
	struct task_struct *curr = rq->curr;
	struct sched_entity *se = &curr->se, *pse = &p->se;
	struct cfs_rq *cfs_rq = task_cfs_rq(curr);
	int cse_is_idle, pse_is_idle;

	if (unlikely(se == pse))
		return REF_STAYS;

	if (unlikely(throttled_hierarchy(cfs_rq_of(pse))))
		return REF_STAYS;

	if (sched_feat(NEXT_BUDDY) && !(wake_flags & WF_FORK) && !pse->sched_delayed)
		set_next_buddy(pse);

	if (test_tsk_need_resched(curr))
		return REF_STAYS;

	if (!sched_feat(WAKEUP_PREEMPTION))
		return REF_STAYS;

	find_matching_se(&se, &pse);

	cse_is_idle = se_is_idle(se);
	pse_is_idle = se_is_idle(pse);

	if (cse_is_idle && !pse_is_idle) {
		cancel_protect_slice(se);
		return REF_IDLE_PREEMPTED;
	}

	if (cse_is_idle != pse_is_idle)
		return REF_STAYS;

	if (unlikely(!normal_policy(p->policy)))
		return REF_STAYS;

	cfs_rq = cfs_rq_of(se);
	update_curr(cfs_rq);
	if (do_preempt_short(cfs_rq, pse, se))
		cancel_protect_slice(se);

	return ref_pick_eevdf(cfs_rq) == pse ? REF_PICK_PREEMPTED : REF_PICK_KEPT;
}

/* A group with one task on the one runqueue there is. */
struct eevdf_group {
	struct task_group tg;
	struct cfs_rq cfs_rq;
	struct sched_entity se;
};

struct eevdf_env {
	struct rnd_state rnd;
	struct rq *rq;
	struct task_struct *task[EEVDF_MAX_QUEUED + 1];
	struct task_struct *curr;
	struct task_struct *wakee;
	/* The entities on the root runqueue that stand for these two. */
	struct sched_entity *curr_se;
	struct sched_entity *wakee_se;
	/* Where curr and wakee may be: in a group of their own. */
	struct eevdf_group group[2];
};

static struct eevdf_env *eevdf_env_alloc(struct kunit *test)
{
	struct eevdf_env *env = kunit_kzalloc(test, sizeof(*env), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, env);
	env->rq = sched_test_rq_alloc(test, raw_smp_processor_id());
	KUNIT_ASSERT_NOT_NULL(test, env->rq);

	for (i = 0; i < ARRAY_SIZE(env->task); i++) {
		env->task[i] = sched_test_task_alloc(test);
		KUNIT_ASSERT_NOT_NULL(test, env->task[i]);
	}

	return env;
}

/*
 * The runqueue says it is that of the CPU we are on, or resched_curr() would
 * send an IPI. Nothing may be printed until eevdf_unlock().
 */
static unsigned long eevdf_lock(struct eevdf_env *env)
{
	unsigned long flags;

	raw_spin_rq_lock_irqsave(env->rq, flags);
	env->rq->cpu = smp_processor_id();

	return flags;
}

static void eevdf_unlock(struct eevdf_env *env, unsigned long flags)
{
	raw_spin_rq_unlock_irqrestore(env->rq, flags);
}

static void eevdf_reset(struct eevdf_env *env)
{
	struct rq *rq = env->rq;

	memset(&rq->cfs, 0, sizeof(rq->cfs));
	init_cfs_rq(&rq->cfs);
	rq->cfs.rq = rq;
	rq->cfs.tg = &root_task_group;
	rq->curr = NULL;
}

static void eevdf_place(struct eevdf_env *env, struct sched_entity *se, s64 key,
			u64 slice, unsigned long weight)
{
	update_load_set(&se->load, weight);
	se->parent = NULL;
	se->depth = 0;
	se->cfs_rq = &env->rq->cfs;
	se->slice = slice;
	se->vruntime = env->rq->cfs.zero_vruntime + key;
	se->deadline = se->vruntime + calc_delta_fair(slice, se);
	se->vlag = 0;
	se->sched_delayed = 0;
	se->on_rq = 1;
	se->exec_start = rq_clock_task(env->rq);
}

static void eevdf_queue(struct eevdf_env *env, struct sched_entity *se)
{
	struct cfs_rq *cfs_rq = &env->rq->cfs;

	__enqueue_entity(cfs_rq, se);
	update_load_add(&cfs_rq->load, se->load.weight);
	cfs_rq->nr_running++;
}

static void eevdf_set_curr(struct eevdf_env *env, struct sched_entity *se)
{
	struct cfs_rq *cfs_rq = &env->rq->cfs;

	cfs_rq->curr = se;
	if (se->on_rq) {
		update_load_add(&cfs_rq->load, se->load.weight);
		cfs_rq->nr_running++;
	}
}

static void eevdf_unset_curr(struct eevdf_env *env)
{
	struct cfs_rq *cfs_rq = &env->rq->cfs;

	if (cfs_rq->curr->on_rq) {
		update_load_sub(&cfs_rq->load, cfs_rq->curr->load.weight);
		cfs_rq->nr_running--;
	}
	cfs_rq->curr = NULL;
}

/* Let @p run, or wait, inside @group; the group's entity is for the caller. */
static struct sched_entity *eevdf_enter_group(struct eevdf_env *env, struct eevdf_group *group,
					      struct task_struct *p)
{
	memset(group, 0, sizeof(*group));
	init_cfs_rq(&group->cfs_rq);
	group->cfs_rq.rq = env->rq;
	group->cfs_rq.tg = &group->tg;
	group->cfs_rq.nr_running = 1;
	group->se.my_q = &group->cfs_rq;

	p->se.parent = &group->se;
	p->se.depth = 1;
	p->se.cfs_rq = &group->cfs_rq;
	p->se.on_rq = 1;
	p->se.sched_delayed = 0;

	return &group->se;
}

/* The time is in the range of the lag that a real runqueue can show, or so. */
static void eevdf_rnd_place(struct eevdf_env *env, struct sched_entity *se)
{
	struct rnd_state *rnd = &env->rnd;
	u32 span = 1U << (1 + sched_test_rnd_below(rnd, 26));
	s64 key = (s64)sched_test_rnd_below(rnd, span) - span / 2;
	u64 slice = 100 * NSEC_PER_USEC << sched_test_rnd_below(rnd, 10);
	int prio = sched_test_rnd_bool(rnd) ? 20 : sched_test_rnd_below(rnd, 40);

	eevdf_place(env, se, key, slice, scale_load(sched_prio_to_weight[prio]));
	if (sched_test_rnd_bool(rnd))
		se->deadline = se->vruntime + (s64)sched_test_rnd_below(rnd, span) - span / 4;
}

static void eevdf_rnd_policy(struct eevdf_env *env, struct task_struct *p)
{
	static const int policies[] = { SCHED_BATCH, SCHED_IDLE };
	u32 i = sched_test_rnd_below(&env->rnd, 16);

	p->policy = i < ARRAY_SIZE(policies) ? policies[i] : SCHED_NORMAL;
}

/* A tree of up to 64 entities, one of them the wakee's. No current yet. */
static void eevdf_rnd_tree(struct eevdf_env *env)
{
	struct rnd_state *rnd = &env->rnd;
	u32 limit = sched_test_rnd_bool(rnd) ? 4 : EEVDF_MAX_QUEUED;
	u32 nr = 1 + sched_test_rnd_below(rnd, limit);
	int i;

	eevdf_reset(env);
	env->rq->cfs.zero_vruntime = sched_test_rnd_u64(rnd);

	env->wakee = env->task[0];
	eevdf_rnd_policy(env, env->wakee);

	env->wakee_se = &env->wakee->se;
	if (sched_test_rnd_bool(rnd))
		env->wakee_se = eevdf_enter_group(env, &env->group[0], env->wakee);
	eevdf_rnd_place(env, env->wakee_se);
	eevdf_queue(env, env->wakee_se);

	for (i = 1; i < nr; i++) {
		struct sched_entity *se = &env->task[i]->se;

		eevdf_rnd_place(env, se);
		se->sched_delayed = !sched_test_rnd_below(rnd, 16);
		eevdf_queue(env, se);
	}
}

static void eevdf_rnd_curr(struct eevdf_env *env)
{
	struct rnd_state *rnd = &env->rnd;
	struct task_struct *curr = env->task[EEVDF_MAX_QUEUED];
	struct sched_entity *se = &curr->se;

	if (sched_test_rnd_bool(rnd)) {
		se = eevdf_enter_group(env, &env->group[1], curr);
		env->group[1].cfs_rq.curr = &curr->se;
		env->group[1].cfs_rq.idle = !sched_test_rnd_below(rnd, 16);
	}
	eevdf_rnd_place(env, se);
	eevdf_rnd_policy(env, curr);
	if (sched_test_rnd_below(rnd, 4))
		set_protect_slice(se);
	if (!sched_test_rnd_below(rnd, 16))
		se->on_rq = 0;
	else
		se->sched_delayed = !sched_test_rnd_below(rnd, 16);

	if (!sched_test_rnd_below(rnd, 16))
		set_tsk_need_resched(curr);
	else
		clear_tsk_need_resched(curr);

	env->curr = curr;
	env->curr_se = se;
	env->rq->curr = curr;
	eevdf_set_curr(env, se);
}

/* What a wakeup may change. */
struct eevdf_outcome {
	bool resched;
	s64 vlag;
	struct sched_entity *next;
};

static struct eevdf_outcome eevdf_outcome(struct eevdf_env *env)
{
	return (struct eevdf_outcome) {
		.resched = test_tsk_need_resched(env->curr),
		.vlag = env->curr_se->vlag,
		.next = env->rq->cfs.next,
	};
}

static void eevdf_restore(struct eevdf_env *env, struct eevdf_outcome *from)
{
	if (from->resched)
		set_tsk_need_resched(env->curr);
	else
		clear_tsk_need_resched(env->curr);
	env->curr_se->vlag = from->vlag;
	env->rq->cfs.next = from->next;
}

static bool eevdf_wakeup_preempts(struct eevdf_env *env)
{
	bool before = test_tsk_need_resched(env->curr);

	check_preempt_wakeup_fair(env->rq, env->wakee, WF_TTWU);

	return !before && test_tsk_need_resched(env->curr);
}

struct eevdf_count {
	unsigned int states;
	unsigned int wrong;
	unsigned int wrong_pick;
	unsigned int preempted;
	unsigned int kept;	/* only because of the feature */
	u64 first_wrong;
};

/* @feature: what the base would have preempted may stay, if it is protected. */
static void eevdf_compare_wakeup(struct eevdf_env *env, bool feature, struct eevdf_count *count)
{
	struct eevdf_outcome before = eevdf_outcome(env), want, got;
	enum ref_verdict verdict;

	if (pick_eevdf(&env->rq->cfs) != ref_pick_eevdf(&env->rq->cfs))
		count->wrong_pick++;

	verdict = ref_check_preempt(env->rq, env->wakee, WF_TTWU);
	want = eevdf_outcome(env);
	want.resched |= verdict == REF_IDLE_PREEMPTED || verdict == REF_PICK_PREEMPTED;
	if (feature && verdict == REF_PICK_PREEMPTED &&
	    env->curr_se->on_rq && protect_slice(env->curr_se)) {
		want.resched = false;
		count->kept++;
	}
	eevdf_restore(env, &before);

	check_preempt_wakeup_fair(env->rq, env->wakee, WF_TTWU);
	got = eevdf_outcome(env);

	if (got.resched != want.resched || got.vlag != want.vlag || got.next != want.next) {
		if (!count->wrong++)
			count->first_wrong = count->states;
	}
	count->preempted += want.resched;
	count->states++;
}

static void eevdf_compare_tree(struct eevdf_env *env, bool feature, struct eevdf_count *count)
{
	unsigned long flags = eevdf_lock(env);
	int i;

	eevdf_rnd_tree(env);
	for (i = 0; i < EEVDF_CURRS_PER_TREE; i++) {
		eevdf_rnd_curr(env);
		eevdf_compare_wakeup(env, feature, count);
		eevdf_unset_curr(env);
	}
	eevdf_unlock(env, flags);
}

static const int eevdf_feats[] = {
	__SCHED_FEAT_RUN_TO_PARITY_WAKEUP,
	__SCHED_FEAT_RUN_TO_PARITY,
	__SCHED_FEAT_PREEMPT_SHORT,
	__SCHED_FEAT_NEXT_BUDDY,
};

static void eevdf_set_feats(unsigned int combination)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(eevdf_feats); i++)
		sched_test_set_feat(eevdf_feats[i], combination & BIT(i));
}

static void eevdf_need_feats(struct kunit *test)
{
	if (!SCHED_TEST_CAN_SWITCH_FEATS)
		kunit_skip(test, "scheduler features are constants without CONFIG_SCHED_DEBUG");

	KUNIT_ASSERT_EQ(test, sched_test_save_feats(test), 0);
}

/* Every combination of the features that take part, over random runqueues. */
static void wakeup_matches_reference(struct kunit *test)
{
	struct eevdf_env *env = eevdf_env_alloc(test);
	unsigned int combination;

	eevdf_need_feats(test);
	sched_test_rnd_init(test, &env->rnd);

	for (combination = 0; combination < BIT(ARRAY_SIZE(eevdf_feats)); combination++) {
		bool feature = (combination & BIT(0)) && (combination & BIT(1));
		struct eevdf_count count = { };
		int i;

		eevdf_set_feats(combination);
		for (i = 0; i < EEVDF_TREES; i++) {
			eevdf_compare_tree(env, feature, &count);
			if (!(i % 64))
				cond_resched();
		}

		KUNIT_EXPECT_EQ_MSG(test, count.wrong, 0,
				    "features 0x%x: state %llu of %u is the first of them",
				    combination, count.first_wrong, count.states);
		KUNIT_EXPECT_EQ(test, count.wrong_pick, 0);
		/* The states must reach what they are there for. */
		KUNIT_EXPECT_GT(test, count.preempted, count.states / 20);
		if (feature)
			KUNIT_EXPECT_GT(test, count.kept, count.states / 100);
		else
			KUNIT_EXPECT_EQ(test, count.kept, 0);
	}
}

/*
 * The case the feature is for, with nice 0 entities and all keys in ms:
 *
 *	   wakee          V  curr    other
 *	-----|------------|---|--------|----->
 *	    -6           -1   0       +3
 *
 * Before the wakee came V was at +1.5 and curr eligible. Its slice of 8 ms has
 * begun; the wakee's deadline at +2 is before that of curr, at +8.
 */
static void eevdf_figure(struct eevdf_env *env)
{
	eevdf_reset(env);
	env->wakee = env->task[0];
	env->wakee->policy = SCHED_NORMAL;
	env->wakee_se = &env->wakee->se;
	env->curr = env->task[EEVDF_MAX_QUEUED];
	env->curr->policy = SCHED_NORMAL;
	env->rq->curr = env->curr;
	clear_tsk_need_resched(env->curr);

	eevdf_place(env, &env->task[1]->se, 3 * NSEC_PER_MSEC, 8 * NSEC_PER_MSEC, NICE_0_LOAD);
	eevdf_queue(env, &env->task[1]->se);
	eevdf_place(env, env->wakee_se, -6 * (s64)NSEC_PER_MSEC, 8 * NSEC_PER_MSEC, NICE_0_LOAD);
	eevdf_queue(env, env->wakee_se);

	/* A group's entity: update_curr() looks into tasks that have to be real. */
	env->curr_se = eevdf_enter_group(env, &env->group[1], env->curr);
	env->group[1].cfs_rq.curr = &env->curr->se;
	eevdf_place(env, env->curr_se, 0, 8 * NSEC_PER_MSEC, NICE_0_LOAD);
	eevdf_set_curr(env, env->curr_se);
	set_protect_slice(env->curr_se);
}

static bool eevdf_figure_preempts(struct eevdf_env *env, void (*change)(struct eevdf_env *))
{
	unsigned long flags = eevdf_lock(env);
	bool preempts;

	eevdf_figure(env);
	if (change)
		change(env);
	preempts = eevdf_wakeup_preempts(env);
	clear_tsk_need_resched(env->curr);
	eevdf_unlock(env, flags);

	return preempts;
}

static void figure_is_kept(struct kunit *test)
{
	struct eevdf_env *env = eevdf_env_alloc(test);

	eevdf_need_feats(test);
	sched_test_set_feat(__SCHED_FEAT_RUN_TO_PARITY, true);

	sched_test_set_feat(__SCHED_FEAT_RUN_TO_PARITY_WAKEUP, false);
	KUNIT_EXPECT_TRUE(test, eevdf_figure_preempts(env, NULL));

	sched_test_set_feat(__SCHED_FEAT_RUN_TO_PARITY_WAKEUP, true);
	KUNIT_EXPECT_FALSE(test, eevdf_figure_preempts(env, NULL));

	/* It refines RUN_TO_PARITY and means nothing without. */
	sched_test_set_feat(__SCHED_FEAT_RUN_TO_PARITY, false);
	KUNIT_EXPECT_TRUE(test, eevdf_figure_preempts(env, NULL));
}

static void shorter_slice(struct eevdf_env *env)
{
	env->wakee_se->slice = NSEC_PER_MSEC;
}

static void idle_group(struct eevdf_env *env)
{
	env->group[1].cfs_rq.idle = 1;
}

static void yielded(struct eevdf_env *env)
{
	env->curr_se->vruntime = env->curr_se->deadline;
	update_deadline(&env->rq->cfs, env->curr_se);
}

static void not_queued(struct eevdf_env *env)
{
	eevdf_unset_curr(env);
	env->curr_se->on_rq = 0;
	eevdf_set_curr(env, env->curr_se);
}

/* Ran 9 ms of its 8 since the clock was last looked at. */
static void expired(struct eevdf_env *env)
{
	env->curr_se->exec_start -= 9 * NSEC_PER_MSEC;
}

static void slice_left(struct eevdf_env *env)
{
	env->curr_se->exec_start -= 7 * NSEC_PER_MSEC;
}

static void others_still_win(struct kunit *test)
{
	struct eevdf_env *env = eevdf_env_alloc(test);

	eevdf_need_feats(test);
	sched_test_set_feat(__SCHED_FEAT_RUN_TO_PARITY, true);
	sched_test_set_feat(__SCHED_FEAT_RUN_TO_PARITY_WAKEUP, true);
	sched_test_set_feat(__SCHED_FEAT_PREEMPT_SHORT, true);

	KUNIT_EXPECT_TRUE(test, eevdf_figure_preempts(env, shorter_slice));
	KUNIT_EXPECT_TRUE(test, eevdf_figure_preempts(env, idle_group));
	KUNIT_EXPECT_TRUE(test, eevdf_figure_preempts(env, yielded));
	KUNIT_EXPECT_TRUE(test, eevdf_figure_preempts(env, not_queued));
	KUNIT_EXPECT_TRUE(test, eevdf_figure_preempts(env, expired));
	KUNIT_EXPECT_FALSE(test, eevdf_figure_preempts(env, slice_left));

	sched_test_set_feat(__SCHED_FEAT_PREEMPT_SHORT, false);
	KUNIT_EXPECT_FALSE(test, eevdf_figure_preempts(env, shorter_slice));
}

/* Everything that reweight_entity() writes, of the entity and its runqueue. */
struct eevdf_weights {
	u64 vruntime, deadline;
	s64 vlag;
	unsigned long weight, rq_weight, avg_load, load_avg, rq_load_avg;
	s64 avg_vruntime;
	u64 zero_vruntime, rq_load_sum;
};

static struct eevdf_weights eevdf_weights(struct cfs_rq *cfs_rq, struct sched_entity *se)
{
	struct eevdf_weights w;

	/* memset(): compared with memcmp(). */
	memset(&w, 0, sizeof(w));
	w.vruntime = se->vruntime;
	w.deadline = se->deadline;
	w.vlag = se->vlag;
	w.weight = se->load.weight;
	w.rq_weight = cfs_rq->load.weight;
	w.avg_load = cfs_rq->avg_load;
	w.avg_vruntime = cfs_rq->avg_vruntime;
	w.zero_vruntime = cfs_rq->zero_vruntime;
#ifdef CONFIG_SMP
	w.load_avg = se->avg.load_avg;
	w.rq_load_avg = cfs_rq->avg.load_avg;
	w.rq_load_sum = cfs_rq->avg.load_sum;
#endif

	return w;
}

/* Build the same runqueue from the same random numbers, for each of the two. */
static struct eevdf_weights eevdf_rnd_reweight(struct eevdf_env *env, bool *protected,
					       void (*reweight)(struct cfs_rq *,
								struct sched_entity *,
								unsigned long))
{
	struct rnd_state *rnd = &env->rnd;
	struct cfs_rq *cfs_rq = &env->rq->cfs;
	struct sched_entity *se;

	eevdf_rnd_tree(env);
	eevdf_rnd_curr(env);
	se = sched_test_rnd_below(rnd, 4) ? env->curr_se : env->wakee_se;
	*protected = se == env->curr_se && se->on_rq && protect_slice(se);

	reweight(cfs_rq, se, scale_load(2 + sched_test_rnd_below(rnd, 88760)));
	if (*protected)
		*protected = protect_slice(se);

	return eevdf_weights(cfs_rq, se);
}

static void eevdf_compare_reweights(struct kunit *test, struct eevdf_env *env, bool feature)
{
	unsigned int wrong = 0, kept = 0, moved = 0;
	int i;

	for (i = 0; i < EEVDF_REWEIGHTS; i++) {
		struct rnd_state start = env->rnd;
		struct eevdf_weights got, want;
		bool ref_protected, protected;
		unsigned long flags;

		flags = eevdf_lock(env);
		want = eevdf_rnd_reweight(env, &ref_protected, ref_reweight_entity);
		env->rnd = start;
		got = eevdf_rnd_reweight(env, &protected, reweight_entity);
		eevdf_unlock(env, flags);

		kept += protected;
		moved += protected && !ref_protected;
		/* The mark is the one thing that may differ, to stay a mark. */
		if (feature && protected)
			want.vlag = want.deadline;
		wrong += !!memcmp(&got, &want, sizeof(got));

		if (!(i % 256))
			cond_resched();
	}

	KUNIT_EXPECT_EQ(test, wrong, 0);
	if (feature)
		KUNIT_EXPECT_GT(test, moved, EEVDF_REWEIGHTS / 4);
	else
		KUNIT_EXPECT_EQ(test, moved, 0);
	kunit_info(test, "%u of %u stayed protected, %u only by the feature",
		   kept, EEVDF_REWEIGHTS, moved);
}

static void reweight_matches_reference(struct kunit *test)
{
	struct eevdf_env *env = eevdf_env_alloc(test);

	eevdf_need_feats(test);
	sched_test_rnd_init(test, &env->rnd);

	sched_test_set_feat(__SCHED_FEAT_RUN_TO_PARITY_WAKEUP, false);
	eevdf_compare_reweights(test, env, false);
}

static void reweight_keeps_protection(struct kunit *test)
{
	struct eevdf_env *env = eevdf_env_alloc(test);

	eevdf_need_feats(test);
	sched_test_rnd_init(test, &env->rnd);

	sched_test_set_feat(__SCHED_FEAT_RUN_TO_PARITY_WAKEUP, true);
	eevdf_compare_reweights(test, env, true);
}

static struct kunit_case sched_eevdf_cases[] = {
	KUNIT_CASE_SLOW(wakeup_matches_reference),
	KUNIT_CASE(figure_is_kept),
	KUNIT_CASE(others_still_win),
	KUNIT_CASE_SLOW(reweight_matches_reference),
	KUNIT_CASE_SLOW(reweight_keeps_protection),
	{ }
};

static struct kunit_suite sched_eevdf_suite = {
	.name = "sched_eevdf",
	.test_cases = sched_eevdf_cases,
};

kunit_test_suite(sched_eevdf_suite);

#endif /* CONFIG_FAIR_GROUP_SCHED */
