/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the scheduler's KUnit suites share: runqueues and tasks that the
 * scheduler does not know of, switching of scheduler features, and the few
 * names that differ between the kernels the suites are built for.
 */
#ifndef _KERNEL_SCHED_TESTS_COMPAT_H
#define _KERNEL_SCHED_TESTS_COMPAT_H

#include <kunit/test.h>
#include <linux/jump_label.h>
#include <linux/log2.h>
#include <linux/prandom.h>
#include <linux/random.h>

/*
 * The seed of all random states, printed by each test that draws some. The same
 * states come again with KBUILD_MODNAME.kunit_seed=N on the command line.
 */
static unsigned long sched_test_seed;
module_param_named(kunit_seed, sched_test_seed, ulong, 0444);

static inline void sched_test_rnd_init(struct kunit *test, struct rnd_state *rnd)
{
	u64 seed = sched_test_seed ?: get_random_u32();

	prandom_seed_state(rnd, seed);
	kunit_info(test, KBUILD_MODNAME ".kunit_seed=%llu", seed);
}

static inline u64 sched_test_rnd_u64(struct rnd_state *rnd)
{
	return (u64)prandom_u32_state(rnd) << 32 | prandom_u32_state(rnd);
}

/* A number below @n, @n > 0. */
static inline u32 sched_test_rnd_below(struct rnd_state *rnd, u32 n)
{
	return prandom_u32_state(rnd) % n;
}

static inline bool sched_test_rnd_bool(struct rnd_state *rnd)
{
	return prandom_u32_state(rnd) & 1;
}

/*
 * Scheduler features can be switched when they are static keys or bits of a
 * variable. Without CONFIG_SCHED_DEBUG they are constants.
 */
#ifdef CONFIG_SCHED_DEBUG
#define SCHED_TEST_CAN_SWITCH_FEATS 1

/* Context: may sleep. */
static inline void sched_test_set_feat(int feat, bool on)
{
	if (on)
		sysctl_sched_features |= 1UL << feat;
	else
		sysctl_sched_features &= ~(1UL << feat);
#ifdef CONFIG_JUMP_LABEL
	if (on)
		static_key_enable(&sched_feat_keys[feat]);
	else
		static_key_disable(&sched_feat_keys[feat]);
#endif
}
#else
#define SCHED_TEST_CAN_SWITCH_FEATS 0

static inline void sched_test_set_feat(int feat, bool on) { }
#endif

static inline bool sched_test_get_feat(int feat)
{
	return sysctl_sched_features & (1UL << feat);
}

static inline void sched_test_restore_feats(void *features)
{
	int feat;

	for (feat = 0; feat < __SCHED_FEAT_NR; feat++)
		sched_test_set_feat(feat, (unsigned long)features & (1UL << feat));
}

/* Leave the features as they were found, whatever becomes of the test. */
static inline int sched_test_save_feats(struct kunit *test)
{
	return kunit_add_action_or_reset(test, sched_test_restore_feats,
					 (void *)(unsigned long)sysctl_sched_features);
}

/* A task for the fields the tested functions read; it can never run. */
static inline struct task_struct *sched_test_task_alloc(struct kunit *test)
{
	struct task_struct *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	if (!p)
		return NULL;

	p->sched_class = &fair_sched_class;
	p->policy = SCHED_NORMAL;
	p->prio = DEFAULT_PRIO;
	p->static_prio = DEFAULT_PRIO;
	p->normal_prio = DEFAULT_PRIO;
	p->cpus_ptr = &p->cpus_mask;
	cpumask_copy(&p->cpus_mask, cpu_possible_mask);
	p->nr_cpus_allowed = cpumask_weight(&p->cpus_mask);
#ifdef CONFIG_CGROUP_SCHED
	p->sched_task_group = &root_task_group;
#endif
	RB_CLEAR_NODE(&p->se.run_node);
	INIT_LIST_HEAD(&p->se.group_node);
	p->se.load.weight = NICE_0_LOAD;

	return p;
}

static inline void sched_test_set_task_cpu(struct task_struct *p, int cpu)
{
	task_thread_info(p)->cpu = cpu;
}

/*
 * A runqueue of its own, not that of any CPU. It claims to be @cpu's, so that
 * per-CPU data can be found. The size is rounded up for the alignment that
 * struct rq asks for.
 */
static inline struct rq *sched_test_rq_alloc(struct kunit *test, int cpu)
{
	struct rq *rq = kunit_kzalloc(test, roundup_pow_of_two(sizeof(*rq)), GFP_KERNEL);

	if (!rq)
		return NULL;

	raw_spin_lock_init(&rq->__lock);
	rq->cpu = cpu;
	rq->online = 1;
#ifdef CONFIG_SCHED_CORE
	rq->core = rq;
#endif
	init_cfs_rq(&rq->cfs);
#ifdef CONFIG_FAIR_GROUP_SCHED
	rq->cfs.on_list = 1;
	rq->cfs.rq = rq;
	rq->cfs.tg = &root_task_group;
#endif
	/* The clock stands still, that is all assert_clock_updated() asks for. */
	rq->clock_update_flags = RQCF_UPDATED;
	rq->clock = NSEC_PER_SEC;
	rq->clock_task = NSEC_PER_SEC;

	return rq;
}

#endif /* _KERNEL_SCHED_TESTS_COMPAT_H */
