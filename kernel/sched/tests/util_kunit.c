// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of cpu_util() and of the statistics that the slow path of task
 * placement collects with it. Included at the end of fair.c.
 *
 * The forms that are inlined into the load-balance loops must return what one
 * function for all callers returned: the ref_*() functions are those of the
 * kernel before they were split, and random states are given to both.
 */
#include <linux/stop_machine.h>

#include "compat.h"

#ifdef CONFIG_SMP

#define UTIL_STATES	100000
/* States per stop_machine(), so that other CPUs do not stand still for long. */
#define UTIL_BATCH	50

static unsigned long
ref_cpu_util(int cpu, struct task_struct *p, int dst_cpu, int boost)
{
	bool add_task = p && task_cpu(p) != cpu && dst_cpu == cpu;
	bool sub_task = p && task_cpu(p) == cpu && dst_cpu != cpu;
	struct cfs_rq *cfs_rq = &cpu_rq(cpu)->cfs;
	unsigned long util = READ_ONCE(cfs_rq->avg.util_avg);
	unsigned long runnable;

	if (add_task)
		util += task_util(p);
	else if (sub_task)
		lsub_positive(&util, task_util(p));

	if (boost) {
		runnable = READ_ONCE(cfs_rq->avg.runnable_avg);
		if (add_task)
			runnable += READ_ONCE(p->se.avg.runnable_avg);
		else if (sub_task)
			lsub_positive(&runnable,
				      READ_ONCE(p->se.avg.runnable_avg));
		util = max(util, runnable);
	}

	if (sched_feat(UTIL_EST)) {
		unsigned long util_est;

		util_est = READ_ONCE(cfs_rq->avg.util_est);

		if (dst_cpu == cpu)
			util_est += _task_util_est(p);
		else if (p && unlikely(task_on_rq_queued(p) || current == p))
			lsub_positive(&util_est, _task_util_est(p));

		util = max(util, util_est);
	}

	return min(util, arch_scale_cpu_capacity(cpu));
}

static unsigned long ref_cpu_util_without(int cpu, struct task_struct *p)
{
	if (cpu != task_cpu(p) || !READ_ONCE(p->se.avg.last_update_time))
		p = NULL;

	return ref_cpu_util(cpu, p, -1, 0);
}

static unsigned long ref_cpu_load_without(struct rq *rq, struct task_struct *p)
{
	struct cfs_rq *cfs_rq;
	unsigned int load;

	if (cpu_of(rq) != task_cpu(p) || !READ_ONCE(p->se.avg.last_update_time))
		return cpu_load(rq);

	cfs_rq = &rq->cfs;
	load = READ_ONCE(cfs_rq->avg.load_avg);

	lsub_positive(&load, task_h_load(p));

	return load;
}

static unsigned long ref_cpu_runnable_without(struct rq *rq, struct task_struct *p)
{
	struct cfs_rq *cfs_rq;
	unsigned int runnable;

	if (cpu_of(rq) != task_cpu(p) || !READ_ONCE(p->se.avg.last_update_time))
		return cpu_runnable(rq);

	cfs_rq = &rq->cfs;
	runnable = READ_ONCE(cfs_rq->avg.runnable_avg);

	lsub_positive(&runnable, p->se.avg.runnable_avg);

	return runnable;
}

static unsigned int ref_task_running_on_cpu(int cpu, struct task_struct *p)
{
	if (cpu != task_cpu(p) || !READ_ONCE(p->se.avg.last_update_time))
		return 0;

	if (task_on_rq_queued(p))
		return 1;

	return 0;
}

static int ref_idle_cpu_without(int cpu, struct task_struct *p)
{
	struct rq *rq = cpu_rq(cpu);

	if (rq->curr != rq->idle && rq->curr != p)
		return 0;

	if (rq->ttwu_pending)
		return 0;

	return 1;
}

static void ref_update_sg_wakeup_stats(struct sched_domain *sd,
				       struct sched_group *group,
				       struct sg_lb_stats *sgs,
				       struct task_struct *p)
{
	int i, nr_running;

	memset(sgs, 0, sizeof(*sgs));

	if (sd->flags & SD_ASYM_CPUCAPACITY)
		sgs->group_misfit_task_load = 1;

	for_each_cpu_and(i, sched_group_span(group), p->cpus_ptr) {
		struct rq *rq = cpu_rq(i);
		unsigned int local;

		sgs->group_load += ref_cpu_load_without(rq, p);
		sgs->group_util += ref_cpu_util_without(i, p);
		sgs->group_runnable += ref_cpu_runnable_without(rq, p);
		local = ref_task_running_on_cpu(i, p);
		sgs->sum_h_nr_running += rq->cfs.h_nr_queued - local;

		nr_running = rq->nr_running - local;
		sgs->sum_nr_running += nr_running;

		if (!nr_running && ref_idle_cpu_without(i, p))
			sgs->idle_cpus++;

		if (sd->flags & SD_ASYM_CPUCAPACITY &&
		    sgs->group_misfit_task_load &&
		    task_fits_cpu(p, i))
			sgs->group_misfit_task_load = 0;
	}

	sgs->group_capacity = group->sgc->capacity;

	sgs->group_weight = group->group_weight;

	sgs->group_type = group_classify(sd->imbalance_pct, group, sgs);

	if (sgs->group_type == group_fully_busy ||
	    sgs->group_type == group_overloaded)
		sgs->avg_load = (sgs->group_load * SCHED_CAPACITY_SCALE) /
				sgs->group_capacity;
}

/* The ends of every range that is clamped or compared, and their neighbours. */
static unsigned long util_rnd_value(struct rnd_state *rnd)
{
	static const unsigned long edges[] = {
		0, 1, 2, 511, 512, 1023, 1024, 1025, S32_MAX, U32_MAX, ULONG_MAX / 2,
	};
	u32 i = sched_test_rnd_below(rnd, 2 * ARRAY_SIZE(edges));

	if (i < ARRAY_SIZE(edges))
		return edges[i];
	if (i & 1)
		return sched_test_rnd_below(rnd, 2 * SCHED_CAPACITY_SCALE);

	return prandom_u32_state(rnd);
}

static void util_rnd_cfs_avg(struct rnd_state *rnd, struct sched_avg *avg)
{
	avg->load_avg = util_rnd_value(rnd);
	avg->util_avg = util_rnd_value(rnd);
	avg->runnable_avg = util_rnd_value(rnd);
	avg->util_est = util_rnd_value(rnd);
}

/* Bit 31 of a task's util_est is UTIL_AVG_UNCHANGED, the edges set it too. */
static void util_rnd_task(struct rnd_state *rnd, struct task_struct *p)
{
	static const int on_rq[] = { 0, TASK_ON_RQ_QUEUED, TASK_ON_RQ_MIGRATING };

	util_rnd_cfs_avg(rnd, &p->se.avg);
	p->se.avg.last_update_time = sched_test_rnd_below(rnd, 3) ? NSEC_PER_SEC : 0;
	p->on_rq = on_rq[sched_test_rnd_below(rnd, ARRAY_SIZE(on_rq))];
}

struct util_mismatch {
	unsigned int nr;
	const char *what;
	unsigned long got, want;
	u64 state;
};

static void util_compare(struct util_mismatch *bad, const char *what, u64 state,
			 unsigned long got, unsigned long want)
{
	if (got == want || bad->nr++)
		return;

	bad->what = what;
	bad->state = state;
	bad->got = got;
	bad->want = want;
}

/* Under the rq lock nothing may be printed: the verdict comes afterwards. */
static void util_expect_none(struct kunit *test, struct util_mismatch *bad)
{
	KUNIT_EXPECT_EQ_MSG(test, bad->nr, 0,
			    "first in %s, state %llu: got %lu, want %lu",
			    bad->what, bad->state, bad->got, bad->want);
}

/*
 * Compare all forms for one state of a CPU and a task. The caller holds the rq
 * lock, so that the two reads of an average cannot differ.
 */
static void util_compare_cpu(struct util_mismatch *bad, u64 state, int cpu,
			     struct task_struct *p, int dst_cpu)
{
	int boost;

	for (boost = 0; boost < 2; boost++) {
		util_compare(bad, "cpu_util", state,
			     cpu_util(cpu, p, dst_cpu, boost),
			     ref_cpu_util(cpu, p, dst_cpu, boost));
	}

	util_compare(bad, "cpu_util_cfs", state, cpu_util_cfs(cpu),
		     ref_cpu_util(cpu, NULL, -1, 0));
	util_compare(bad, "__cpu_util_cfs", state, __cpu_util_cfs(cpu),
		     ref_cpu_util(cpu, NULL, -1, 0));
	util_compare(bad, "cpu_util_cfs_boost", state, cpu_util_cfs_boost(cpu),
		     ref_cpu_util(cpu, NULL, -1, 1));

	if (p && task_contrib_cpu(p) == cpu) {
		util_compare(bad, "cpu_util_without", state, cpu_util_without(cpu, p),
			     ref_cpu_util_without(cpu, p));
	}
}

static void util_compare_states(struct kunit *test, struct rnd_state *rnd,
				struct task_struct *fake)
{
	struct util_mismatch bad = { };
	u64 state;

	for (state = 0; state < UTIL_STATES; state++) {
		int cpu = cpumask_any(cpu_online_mask);
		struct rq *rq = cpu_rq(cpu);
		struct task_struct *p = NULL;
		struct sched_avg saved;
		int dst_cpu = -1;
		unsigned long flags;

		switch (sched_test_rnd_below(rnd, 8)) {
		case 0:
			break;
		case 1:
			p = current;
			break;
		default:
			p = fake;
			util_rnd_task(rnd, p);
			sched_test_set_task_cpu(p, sched_test_rnd_bool(rnd) ? cpu : cpu + 1);
		}
		if (p && sched_test_rnd_bool(rnd))
			dst_cpu = sched_test_rnd_bool(rnd) ? cpu : cpu + 1;

		raw_spin_rq_lock_irqsave(rq, flags);
		saved = rq->cfs.avg;
		util_rnd_cfs_avg(rnd, &rq->cfs.avg);
		util_compare_cpu(&bad, state, cpu, p, dst_cpu);
		rq->cfs.avg = saved;
		raw_spin_rq_unlock_irqrestore(rq, flags);

		if (!(state % 1000))
			cond_resched();
	}

	util_expect_none(test, &bad);
}

static void util_matches_reference(struct kunit *test)
{
	struct task_struct *fake = sched_test_task_alloc(test);
	struct rnd_state rnd;

	KUNIT_ASSERT_NOT_NULL(test, fake);
	sched_test_rnd_init(test, &rnd);

	util_compare_states(test, &rnd, fake);
}

/* The other side of the UTIL_EST branch, which each inlined copy has. */
static void util_matches_reference_no_util_est(struct kunit *test)
{
	struct task_struct *fake = sched_test_task_alloc(test);
	struct rnd_state rnd;

	if (!SCHED_TEST_CAN_SWITCH_FEATS)
		kunit_skip(test, "scheduler features are constants without CONFIG_SCHED_DEBUG");

	KUNIT_ASSERT_NOT_NULL(test, fake);
	KUNIT_ASSERT_EQ(test, sched_test_save_feats(test), 0);
	sched_test_rnd_init(test, &rnd);

	sched_test_set_feat(__SCHED_FEAT_UTIL_EST, !sched_feat(UTIL_EST));
	util_compare_states(test, &rnd, fake);
}

/* What one CPU shows to update_sg_wakeup_stats(). */
struct util_rq_state {
	struct sched_avg avg;
	unsigned int h_nr_queued;
	unsigned int nr_running;
	unsigned int ttwu_pending;
	struct task_struct *curr;
};

struct util_wakeup {
	struct sched_domain sd;
	struct sched_group *group;
	struct task_struct *p;
	struct util_rq_state *saved;
	struct rnd_state rnd;
	struct util_mismatch bad;
	unsigned long seen_local;
	unsigned long seen_idle;
	u64 state;
};

static void util_save_rqs(struct util_wakeup *w)
{
	int cpu;

	for_each_online_cpu(cpu) {
		struct rq *rq = cpu_rq(cpu);

		w->saved[cpu].avg = rq->cfs.avg;
		w->saved[cpu].h_nr_queued = rq->cfs.h_nr_queued;
		w->saved[cpu].nr_running = rq->nr_running;
		w->saved[cpu].ttwu_pending = rq->ttwu_pending;
		w->saved[cpu].curr = rq->curr;
	}
}

static void util_restore_rqs(struct util_wakeup *w)
{
	int cpu;

	for_each_online_cpu(cpu) {
		struct rq *rq = cpu_rq(cpu);

		rq->cfs.avg = w->saved[cpu].avg;
		rq->cfs.h_nr_queued = w->saved[cpu].h_nr_queued;
		rq->nr_running = w->saved[cpu].nr_running;
		rq->ttwu_pending = w->saved[cpu].ttwu_pending;
		rcu_assign_pointer(rq->curr, w->saved[cpu].curr);
	}
}

static int util_rnd_online_cpu(struct rnd_state *rnd)
{
	return cpumask_nth(sched_test_rnd_below(rnd, num_online_cpus()), cpu_online_mask);
}

static void util_rnd_wakeup(struct util_wakeup *w)
{
	struct rnd_state *rnd = &w->rnd;
	struct task_struct *p = w->p;
	int cpu;

	for_each_online_cpu(cpu) {
		struct rq *rq = cpu_rq(cpu);

		util_rnd_cfs_avg(rnd, &rq->cfs.avg);
		rq->cfs.h_nr_queued = sched_test_rnd_below(rnd, 4);
		rq->nr_running = rq->cfs.h_nr_queued + sched_test_rnd_below(rnd, 2);
		rq->ttwu_pending = !sched_test_rnd_below(rnd, 4);
		rcu_assign_pointer(rq->curr, sched_test_rnd_bool(rnd) ? rq->idle :
				   sched_test_rnd_bool(rnd) ? p : w->saved[cpu].curr);

		cpumask_assign_cpu(cpu, sched_group_span(w->group), sched_test_rnd_below(rnd, 4));
		cpumask_assign_cpu(cpu, &p->cpus_mask, sched_test_rnd_below(rnd, 8));
	}

	util_rnd_task(rnd, p);
	cpu = util_rnd_online_cpu(rnd);
	sched_test_set_task_cpu(p, cpu);
#ifdef CONFIG_FAIR_GROUP_SCHED
	p->se.cfs_rq = &cpu_rq(cpu)->cfs;
#endif
	w->sd.flags = sched_test_rnd_bool(rnd) ? SD_ASYM_CPUCAPACITY : 0;
	w->sd.imbalance_pct = 110 + sched_test_rnd_below(rnd, 20);
	w->group->group_weight = max(cpumask_weight(sched_group_span(w->group)), 1U);
	w->group->sgc->capacity = 1 + sched_test_rnd_below(rnd, 8 * SCHED_CAPACITY_SCALE);
	w->group->sgc->imbalance = !sched_test_rnd_below(rnd, 8);
}

static void util_compare_wakeup(struct util_wakeup *w)
{
	struct sg_lb_stats got, want;
	unsigned int i;

	if (w->p->se.avg.last_update_time && task_on_rq_queued(w->p) &&
	    cpumask_test_cpu(task_cpu(w->p), sched_group_span(w->group)))
		w->seen_local++;

	/* memset(): the padding is compared as well. */
	memset(&got, 0, sizeof(got));
	memset(&want, 0, sizeof(want));
	update_sg_wakeup_stats(&w->sd, w->group, &got, w->p, task_contrib_cpu(w->p));
	w->seen_idle += got.idle_cpus;
	ref_update_sg_wakeup_stats(&w->sd, w->group, &want, w->p);

	for (i = 0; i < sizeof(got) / sizeof(unsigned long); i++) {
		util_compare(&w->bad, "update_sg_wakeup_stats", w->state,
			     ((unsigned long *)&got)[i], ((unsigned long *)&want)[i]);
	}
}

/* All other CPUs stand still with interrupts off: their rqs can be borrowed. */
static int util_wakeup_batch(void *data)
{
	struct util_wakeup *w = data;
	int i;

	util_save_rqs(w);
	for (i = 0; i < UTIL_BATCH; i++, w->state++) {
		util_rnd_wakeup(w);
		util_compare_wakeup(w);
	}
	util_restore_rqs(w);

	return 0;
}

static void wakeup_stats_match_reference(struct kunit *test)
{
	struct util_wakeup *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, w);
	w->p = sched_test_task_alloc(test);
	w->saved = kunit_kcalloc(test, nr_cpu_ids, sizeof(*w->saved), GFP_KERNEL);
	w->group = kunit_kzalloc(test, sizeof(*w->group) + cpumask_size(), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, w->p);
	KUNIT_ASSERT_NOT_NULL(test, w->saved);
	KUNIT_ASSERT_NOT_NULL(test, w->group);
	w->group->sgc = kunit_kzalloc(test, sizeof(*w->group->sgc), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, w->group->sgc);
	sched_test_rnd_init(test, &w->rnd);

	while (w->state < UTIL_STATES) {
		stop_machine(util_wakeup_batch, w, NULL);
		cond_resched();
	}

	util_expect_none(test, &w->bad);
	/* The states must have reached the one CPU that @p is subtracted from, and idle ones. */
	KUNIT_EXPECT_GT(test, w->seen_local, UTIL_STATES / 100);
	KUNIT_EXPECT_GT(test, w->seen_idle, UTIL_STATES / 100);
}

#ifdef CONFIG_X86_64
/*
 * On hybrid systems the inline form has to find the capacity that was set. The
 * key cannot go off again by itself, so that is done here; the per-CPU data
 * behind it is left, as arch_enable_hybrid_capacity_scale() has no counterpart.
 */
static void util_hybrid_capacity(struct kunit *test)
{
	unsigned long before[2], during[2];
	int cpu = cpumask_first(cpu_online_mask);

	if (static_key_enabled(&arch_hybrid_cap_scale_key))
		kunit_skip(test, "this system is hybrid");

	before[0] = arch_scale_cpu_capacity(cpu);
	before[1] = arch_scale_cpu_capacity_inline(cpu);

	KUNIT_ASSERT_TRUE(test, arch_enable_hybrid_capacity_scale());
	arch_set_cpu_capacity(cpu, 3, 4, 1, 1);
	during[0] = arch_scale_cpu_capacity(cpu);
	during[1] = arch_scale_cpu_capacity_inline(cpu);
	static_branch_disable(&arch_hybrid_cap_scale_key);

	KUNIT_EXPECT_EQ(test, before[0], SCHED_CAPACITY_SCALE);
	KUNIT_EXPECT_EQ(test, before[1], SCHED_CAPACITY_SCALE);
	KUNIT_EXPECT_EQ(test, during[0], SCHED_CAPACITY_SCALE * 3 / 4);
	KUNIT_EXPECT_EQ(test, during[1], SCHED_CAPACITY_SCALE * 3 / 4);
}
#endif

static void util_capacity_forms_agree(struct kunit *test)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		KUNIT_EXPECT_EQ(test, arch_scale_cpu_capacity_inline(cpu),
				arch_scale_cpu_capacity(cpu));
	}
}

static struct kunit_case sched_util_cases[] = {
	KUNIT_CASE_SLOW(util_matches_reference),
	KUNIT_CASE_SLOW(util_matches_reference_no_util_est),
	KUNIT_CASE_SLOW(wakeup_stats_match_reference),
	KUNIT_CASE(util_capacity_forms_agree),
#ifdef CONFIG_X86_64
	KUNIT_CASE(util_hybrid_capacity),
#endif
	{ }
};

static struct kunit_suite sched_util_suite = {
	.name = "sched_util",
	.test_cases = sched_util_cases,
};

kunit_test_suite(sched_util_suite);

#endif /* CONFIG_SMP */
