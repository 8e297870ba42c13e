/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Switching the uclamp accounting of the runqueues on and off while tasks run.
 *
 * Run: formal/check, which holds the table of all variants, or by hand
 *
 *	spin -a uclamp.pml && gcc -O2 -DSAFETY -o pan pan.c && ./pan -m100000
 *	spin -a -DLIVENESS -DNR_TASK=1 uclamp.pml && gcc -O2 -DNFAIR=3 -o pan pan.c &&
 *		./pan -m100000 -a -f -N goes_off
 *
 * Processes, and what each stands for:
 *
 * task		one task: enqueue_task() and dequeue_task(), with a migration as
 *		a dequeue and an enqueue, and do_exit(). An exiting task is off
 *		the task list first (release_task()), and is dequeued for the last
 *		time later (do_task_dead()); in between it may sleep, wake up and
 *		migrate as any other. A dead task is replaced by a new one: fork.
 * worker	uclamp_work, run by the workqueue: turns the accounting off, or on
 *		for the users that must not sleep.
 * sleeper	users that may sleep: sched_setattr(), cpu.uclamp.{min,max}, the
 *		sysctls. They find the accounting on when their call returns, and
 *		peek at uclamp_state for that. Who takes uclamp_mutex first is a
 *		user that does not peek.
 * forker	users that must not sleep: fork and the last put of a task.
 * writer	changes the clamps of counted tasks: uclamp_update_active().
 * monitor	no part of the kernel: fails when an invariant does not hold.
 *
 * What is left out, and why that hides nothing:
 *
 * - rq->lock: a section under the lock of one rq is one step. Everything in it
 *   but the jump label is protected by that lock, and it looks at the jump
 *   label once, so any run is equivalent to one in which the section is not
 *   interrupted. Sections of two rqs (migration) are two steps. -DLOCKS has
 *   the locks as locks and each access as a step of its own.
 * - Buckets and values: a count per rq stands for the buckets of both clamps.
 *   A task enters and leaves them all in one section. Values: see
 *   uclamp-value.pml.
 * - sched_delayed, and classes without uclamp: such a task is never counted,
 *   so it is to the accounting what a sleeping task is.
 * - Time: a delayed work may run any time after it was queued. That it looks
 *   too early at an accounting that was just turned on, and is queued again,
 *   changes nothing else: it is only in the models of liveness.
 * - Weak memory: users and the pending bit of the work are changed by fully
 *   ordered atomics, the rest under locks. Two full barriers are between what
 *   is written and read of users and state without uclamp_mutex. The unlocked
 *   peek at active comes after all rqs were locked to clear ON. The jump label
 *   sites are live, or dead, on all CPUs when static_branch_enable(), or
 *   disable(), returns. Until then each of them changes at its own time, in
 *   any order.
 * - Numbers: two rqs, up to three tasks, one sleeper and one forker that come
 *   and go a few times. What more users would share is here: the counter, the
 *   mutex and the pending bit.
 * - A sweep may meet a new task in place of a dead one that it still refers to.
 *   The kernel's sweep finds the dead one not active, and not queued.
 *
 * Faults to build in, each by a -D of that name, are described where they are.
 * -DMAINLINE is the kernel without the series.
 */

#ifndef NR_TASK
#define NR_TASK		2	/* 1 to 3 */
#endif
#ifndef NR_EXIT
#define NR_EXIT		1	/* so many of them exit */
#endif
#ifndef NR_SLEEPER
#define NR_SLEEPER	1	/* how often each goes up and down */
#endif
#ifndef NR_FORKER
#define NR_FORKER	1
#endif
#ifndef NR_WRITER
#ifdef MAINLINE
#define NR_WRITER	0
#else
#define NR_WRITER	1
#endif
#endif
#define NR_RQ		2

#define OFF		0
#define ON		1
#define DRAIN		2

#define BLOCKED		0
#define QUEUED		1
#define MIGRATING	2

typedef rq_t {
	bool on;		/* UCLAMP_FLAG_ON in rq->uclamp_flags */
	bool valid;		/* UCLAMP_FLAG_VALID, written together with it */
	byte count;		/* rq->uclamp[].bucket[].tasks */
#ifdef LOCKS
	bool lock;
#endif
};

typedef task_t {
	byte on_rq;		/* p->on_rq */
	bit cpu;		/* task_cpu(p) */
	bool is_active;		/* p->uclamp[].active */
	bool hashed = true;	/* on the task list */
#ifdef LOCKS
	bool pi_lock;
#endif
};

rq_t rq[NR_RQ];
task_t task[NR_TASK];

bool site_inc, site_dec;	/* the jump labels of sched_uclamp_used */
bool mutex;			/* uclamp_mutex */
byte state = OFF;		/* uclamp_state, written under uclamp_mutex */
byte users;			/* uclamp_users */
bool pending;			/* uclamp_work is queued */
bool sleeper_holds;		/* a call of sleeper has returned, not yet put */

/*
 * FAIL_IF(n, cond, name): fails when cond holds. The variables are always
 * false: a failed assertion is reported by the name of what does not hold.
 * With -DONLY=n, nothing but this one fails, which shows what else a fault
 * leads to.
 */
bool dec_has_a_count, counted_once, dead_is_uncounted, counts_match, off_is_off;
bool flags_nest, queued_are_counted, on_for_sleeper;

#define I_DEC		1
#define I_ONCE		2
#define I_DEAD		3
#define I_COUNTS	4
#define I_OFF		5
#define I_FLAGS		6
#define I_QUEUED	7
#define I_SLEEPER	8

#if defined(MARKS)
#define WANTED(n)	false
#elif defined(ONLY)
#define WANTED(n)	(ONLY == n)
#else
#define WANTED(n)	true
#endif

#define FAIL_IF(n, cond, name)						\
	if								\
	:: WANTED(n) && (cond) -> assert(name)				\
	:: else								\
	fi

/*
 * MARK(cond, what): a place that is to be reached with cond true. With -DMARKS
 * it is a statement, which pan lists when it was not reached.
 */
#ifdef MARKS
#define MARK(cond, what)						\
	atomic {							\
		if							\
		:: cond -> printf(what)					\
		:: else							\
		fi							\
	}
bool was_off_again;
#define NOTE_OFF	was_off_again = true
#else
#define MARK(cond, what) skip
#define NOTE_OFF	skip
#endif

/* --- Locks -------------------------------------------------------------- */

/*
 * SECTION is what runs under rq->lock: one step, or with -DLOCKS as many as
 * there are accesses.
 */
#ifdef LOCKS
#define SECTION
#define pi_lock(p)	atomic { !task[p].pi_lock -> task[p].pi_lock = true }
#define pi_unlock(p)	task[p].pi_lock = false
#define rq_lock(r)	atomic { !rq[r].lock -> rq[r].lock = true }
#define rq_unlock(r)	rq[r].lock = false
#define task_rq_lock(p)							\
	atomic {							\
		task[p].on_rq != MIGRATING && !task[p].pi_lock &&	\
		!rq[task[p].cpu].lock ->				\
			task[p].pi_lock = true;				\
			rq[task[p].cpu].lock = true			\
	}
#define task_rq_unlock(p)						\
	rq[task[p].cpu].lock = false;					\
	task[p].pi_lock = false
#define UNLOCKED(r)	(!rq[r].lock)
#else
#define SECTION		atomic
#define pi_lock(p)	skip
#define pi_unlock(p)	skip
#define rq_lock(r)	skip
#define rq_unlock(r)	skip
#define task_rq_lock(p)	task[p].on_rq != MIGRATING
#define task_rq_unlock(p) skip
#define UNLOCKED(r)	true
#endif

/*
 * Spin's fairness does not help a process whose wait is over and then is not,
 * again and again. The locks are fair: a task does not start to migrate while
 * somebody waits for it, nor with -DLOCKS any section while somebody waits for
 * a lock of a rq, nor takes uclamp_mutex while somebody waits for that.
 */
#ifdef LIVENESS
byte waited_for;		/* a task, plus one */
#define WAIT_FOR(p)	waited_for = p + 1
#define WAIT_DONE	waited_for = 0
#ifdef LOCKS
#define NOT_WAITED(p)	(waited_for == 0)
#define WAIT_FOR_RQ	waited_for = 1
byte mutex_waiters;
#define WAIT_FOR_MUTEX	mutex_waiters++
#define MUTEX_DONE	mutex_waiters--
#else
#define NOT_WAITED(p)	(waited_for != p + 1)
#endif
#else
#define WAIT_FOR(p)	skip
#define WAIT_DONE	skip
#define NOT_WAITED(p)	true
#endif
#ifndef WAIT_FOR_RQ
#define WAIT_FOR_RQ	skip
#define WAIT_FOR_MUTEX	skip
#define MUTEX_DONE	skip
#endif

inline mutex_lock()
{
	WAIT_FOR_MUTEX;
	atomic { !mutex -> mutex = true; MUTEX_DONE }
}

/* --- Counting ----------------------------------------------------------- */

/* Does uclamp_rq_inc() count on rq r once its site is live? */
#if defined(MAINLINE)
#define MAY_COUNT(r)	true
#elif defined(DRAIN_COUNTS)
/* Fault: enqueue goes on counting in DRAIN, as if only the key stopped it. */
#define MAY_COUNT(r)	(rq[r].on || state == DRAIN)
#else
#define MAY_COUNT(r)	rq[r].on
#endif

inline count_task(r, p)
{
	FAIL_IF(I_ONCE, task[p].is_active, counted_once);
	rq[r].count++;
	task[p].is_active = true
}

inline uncount_task(r, p)
{
	FAIL_IF(I_DEC, rq[r].count == 0, dec_has_a_count);
	rq[r].count--;
	task[p].is_active = false
}

inline uclamp_rq_inc(r, p)
{
	if
	:: site_inc ->
		if
		:: MAY_COUNT(r) ->
			count_task(r, p);
			MARK(was_off_again, "counted after OFF was reached again")
		:: else -> MARK(true, "the key is live, the flag keeps from counting")
		fi
	:: else
	fi
}

inline uclamp_rq_dec(r, p)
{
	if
	:: site_dec ->
		if
		:: task[p].is_active -> uncount_task(r, p)
		:: else
		fi
	:: else
	fi
}

/*
 * A counted task changes its clamp, and so its buckets. It is counted again
 * where it was counted before, in DRAIN too.
 */
inline uclamp_update_active(r, p)
{
	if
	:: task[p].is_active ->
		MARK(state == DRAIN, "counted again in DRAIN");
		uncount_task(r, p);
		count_task(r, p)
	:: else
	fi
}

/* --- Tasks -------------------------------------------------------------- */

inline pick_rq(r)
{
	if
	:: r = 0
	:: r = 1
	fi
}

#ifdef LOCKS
#define START(p)	NOT_WAITED(p)
#else
#define START(p)	true
#endif

/*
 * A task may stop for ever where it is, for it may sleep or run as long as it
 * wants, but not between being unhashed and its last dequeue.
 */
proctype task_thread(byte p)
{
	bit r;

end:
	do
	:: SECTION {	/* try_to_wake_up() */
		task[p].on_rq == BLOCKED && START(p) ->
		pi_lock(p);
		pick_rq(r);
		task[p].cpu = r;
		rq_lock(r);
		uclamp_rq_inc(r, p);
		task[p].on_rq = QUEUED;
		rq_unlock(r);
		pi_unlock(p)
	   }
	:: SECTION {	/* __schedule() of a task that sleeps */
		task[p].on_rq == QUEUED && START(p) ->
		r = task[p].cpu;
		rq_lock(r);
		uclamp_rq_dec(r, p);
		task[p].on_rq = BLOCKED;
		rq_unlock(r)
	   }
	:: SECTION {	/* move_queued_task(), detach_task() */
		task[p].on_rq == QUEUED && NOT_WAITED(p) ->
		r = task[p].cpu;
		rq_lock(r);
		MARK(task[p].is_active && !rq[1 - r].on,
		     "a counted task moves to a rq without ON");
		MARK(!task[p].is_active && task[p].hashed && rq[1 - r].valid &&
		     !rq[r].valid, "a task that is not counted moves to a rq with VALID");
		MARK(!task[p].hashed && !task[p].is_active && rq[r].valid,
		     "an exiting task is not counted on a rq with VALID");
		uclamp_rq_dec(r, p);
		task[p].on_rq = MIGRATING;
		task[p].cpu = 1 - r;
		rq_unlock(r)
	   }
	:: SECTION {	/* ... the second half, attach_task() */
		task[p].on_rq == MIGRATING && START(p) ->
		r = task[p].cpu;
		rq_lock(r);
		uclamp_rq_inc(r, p);
		task[p].on_rq = QUEUED;
		rq_unlock(r)
	   }
	:: p < NR_EXIT && task[p].hashed && task[p].on_rq == QUEUED ->
		task[p].hashed = false	/* release_task() */
	:: SECTION {	/* do_task_dead(), and the fork of the next */
		!task[p].hashed && task[p].on_rq == QUEUED && START(p) ->
		r = task[p].cpu;
		rq_lock(r);
		MARK(state == DRAIN && task[p].is_active,
		     "an exiting task un-counts itself in DRAIN");
		uclamp_rq_dec(r, p);
		FAIL_IF(I_DEAD, task[p].is_active, dead_is_uncounted);
		task[p].on_rq = BLOCKED;
		task[p].hashed = true;
		rq_unlock(r)
	   }
	:: task[p].hashed && task[p].on_rq != MIGRATING -> break
	od
}

/*
 * cpu.uclamp.{min,max}, the sysctls: whenever they like. They hold uclamp_mutex
 * in the kernel; without it there are more runs. One set of runs needs it.
 *
 * REINC_UNLOCKED: fault, the work's peek at active can find the task not counted
 * again and again, between the one and the other.
 */
#if defined(LOCKS) && defined(LIVENESS)
#ifdef REINC_UNLOCKED
#define WRITER_LOCK(p)	waited_for == 0 ->
#define WRITER_GOES_ON	skip
#define WRITER_UNLOCK	skip
#else
#define WRITER_LOCK(p)	atomic { mutex_waiters == 0 && !mutex -> mutex = true }; \
			WAIT_FOR(p);
#define WRITER_GOES_ON	WAIT_DONE
#define WRITER_UNLOCK	mutex = false
#endif
#else
#define WRITER_LOCK(p)
#define WRITER_GOES_ON	skip
#define WRITER_UNLOCK	skip
#endif

#define UPDATE(p)							\
	SECTION {							\
		WRITER_LOCK(p)						\
		task_rq_lock(p);					\
		WRITER_GOES_ON;						\
		uclamp_update_active(task[p].cpu, p);			\
		task_rq_unlock(p);					\
		WRITER_UNLOCK						\
	}

proctype writer()
{
end:
	do
	:: UPDATE(0)
#if NR_TASK > 1
	:: UPDATE(1)
#endif
#if NR_TASK > 2
	:: UPDATE(2)
#endif
#ifdef LIVENESS
	:: break
#endif
	od
}

/* --- Switching ---------------------------------------------------------- */

/* The sites change one after the other. */
inline patch_sites(live)
{
	if
#ifndef DEC_FIRST
	:: site_inc != live ->
		site_inc = live;
		site_dec = live
#endif
#ifndef INC_FIRST
	:: site_dec != live ->
		site_dec = live;
		site_inc = live
#endif
	:: site_inc == live && site_dec == live
	fi
}

inline set_flags(o, v)
{
	i = 0;
	do
	:: i < NR_RQ ->
		WAIT_FOR_RQ;
		SECTION {
			rq_lock(i);
			WAIT_DONE;
			atomic { rq[i].on = o; rq[i].valid = v };
			rq_unlock(i);
			i++
		}
	:: else -> break
	od;
	i = 0
}

/*
 * Counts what was queued before. The task list is walked without rq->lock. Who
 * is not queued at the peek will be counted when it is.
 */
inline count_queued()
{
	i = 0;
	do
	:: i < NR_TASK ->
		if
		:: task[i].hashed && task[i].on_rq != BLOCKED ->
			WAIT_FOR(i);
			SECTION {
				task_rq_lock(i);
				WAIT_DONE;
				if
				:: task[i].on_rq == QUEUED &&
				   !task[i].is_active && rq[task[i].cpu].on ->
					MARK(true, "a task that was queued before is counted");
					count_task(task[i].cpu, i)
				:: else
				fi;
				task_rq_unlock(i)
			}
		:: else
		fi;
		i++
	:: else -> break
	od;
	i = 0
}

#ifdef LIVENESS
/* It may be too early to turn off what was just turned on. */
bool young;
#define TURNED_ON	young = true
#define TOO_EARLY							\
	:: state == ON && young ->					\
		young = false;						\
		LOOK_LATER
#ifdef NO_EARLY_KICK
/* Fault: looks too early, and not again: the delay is 0, which means never. */
#define LOOK_LATER	skip
#else
#define LOOK_LATER	pending = true
#endif
#else
#define TURNED_ON	skip
#define TOO_EARLY
#endif

inline turn_on()
{
	MARK(state == DRAIN, "DRAIN goes back to ON");
	MARK(state == DRAIN && rq[0].count > 0,
	     "DRAIN goes back to ON with a task still counted");
#ifdef STATE_EARLY
	/* Fault: the state is ON before all are counted. */
	state = ON;
#endif
#if defined(FLAG_FIRST)
	/* Fault: the flags are set before the key is live. */
	set_flags(true, false);
	patch_sites(true);
#elif defined(SWEEP_FIRST)
	/* Fault: the walk comes before all flags are set. */
	patch_sites(true);
	count_queued();
	set_flags(true, false);
#elif defined(VALID_FIRST)
	/* Fault: VALID is set with ON, before the walk. */
	patch_sites(true);
	set_flags(true, true);
#else
	patch_sites(true);
	set_flags(true, false);
#endif
#if defined(DRAIN_NO_SWEEP)
	/* Fault: there is no walk when DRAIN goes back to ON. */
	if
	:: state == OFF -> count_queued()
	:: else
	fi;
#elif !defined(SWEEP_FIRST) && !defined(NO_SWEEP_ON)
	/* NO_SWEEP_ON: fault, what is queued stays uncounted. */
	count_queued();
#endif
	set_flags(true, true);
	TURNED_ON;
	state = ON
}

/*
 * The peek at active is unlocked: it only goes from true to false now, as
 * uclamp_update_active() is not at work.
 */
inline uncount_tasks()
{
	i = 0;
	do
	:: i < NR_TASK ->
		if
		:: task[i].hashed && task[i].is_active ->
			WAIT_FOR(i);
			SECTION {
				task_rq_lock(i);
				WAIT_DONE;
				if
				:: task[i].is_active ->
					MARK(true, "the work un-counts a queued task");
#ifdef RESET
					task[i].is_active = false
#else
					uncount_task(task[i].cpu, i)
#endif
				:: else
				fi;
				task_rq_unlock(i)
			}
		:: else
		fi;
		i++
	:: else -> break
	od;
	i = 0
}

/* Looks at one rq after the other, up to the first that counts. */
inline reset_rqs()
{
	i = 0;
	do
	:: i < NR_RQ && !left ->
		WAIT_FOR_RQ;
		SECTION {
			rq_lock(i);
			WAIT_DONE;
#ifdef RESET
			/* Fault: the counts are reset and not drained. */
			rq[i].count = 0;
#endif
			if
			:: rq[i].count > 0 -> left = true
			:: else
			fi;
			rq_unlock(i);
			i++
		}
	:: else -> break
	od;
	i = 0
}

/* The state is ON and there are no users: back is set when there are. */
inline leave_on()
{
#if defined(STATE_LATE)
	/* Fault: the state changes after the flags. */
	set_flags(false, false);
	state = DRAIN;
#elif defined(NO_BARRIER)
	/* Fault: users are read before the new state is seen. */
	back = (users > 0);
	if
	:: back
	:: else -> state = DRAIN
	fi;
#elif defined(PEEK_STATE)
	/* Fault: users may peek, but are not read again. */
	state = DRAIN;
#else
	state = DRAIN;
	back = (users > 0);
	if
	:: back ->
		MARK(true, "users came while the state changed");
		state = ON
	:: else
	fi;
#endif
	if
	:: !back ->
#if defined(STATE_LATE)
		skip
#elif defined(VALID_STAYS)
		/* Fault: VALID is not cleared with ON. */
		set_flags(false, true)
#else
		set_flags(false, false)
#endif
		;
#ifndef NO_SWEEP_OFF
		/* NO_SWEEP_OFF: fault, waits for each task to dequeue by itself. */
		uncount_tasks()
#else
		skip
#endif
	:: else
	fi
}

/* Whom the walk did not find is exiting, and un-counts itself. */
inline drain()
{
	reset_rqs();
#ifdef KEY_EARLY
	/* Fault: the key goes off before the last count is gone. */
	left = false;
#endif
	if
	:: left ->
		left = false;
		MARK(true, "the work waits for an exiting task");
#ifdef NO_REARM
		/* Fault: nobody looks again. */
		skip
#else
		pending = true
#endif
	:: else ->
		patch_sites(false);
		state = OFF;
		MARK(true, "OFF is reached again");
		NOTE_OFF
	fi
}

inline turn_off()
{
	if
	TOO_EARLY
	:: true ->
		if
		:: state == ON -> leave_on()
		:: else
		fi;
		if
		:: state != OFF && !back -> drain()
		:: else -> back = false
		fi
	fi
}

/* uclamp_work. The pending bit is cleared before the function runs. */
proctype worker()
{
	byte i;
	bool left, back;

end:
	do
	:: atomic { pending -> pending = false };
#ifndef WORK_UNLOCKED
		/* WORK_UNLOCKED: fault, the work runs without uclamp_mutex. */
		mutex_lock();
#endif
		if
#ifndef NO_RECHECK
		/* NO_RECHECK: fault, users that came meanwhile are not seen. */
		:: users > 0 ->
			if
			:: state != ON -> turn_on()
			:: else
			fi
#endif
		:: else -> turn_off()
		fi;
#ifndef WORK_UNLOCKED
		mutex = false
#endif
	od
}

/* --- Users -------------------------------------------------------------- */

/* Schedules the work for the first one. */
inline uclamp_get()
{
	atomic { users++; first = (users == 1) };
	if
	:: first ->
		first = false;
#ifndef NO_GET_KICK
		/* NO_GET_KICK: fault. */
		pending = true
#endif
	:: else
	fi
}

/* Schedules the work when the last one goes. */
inline uclamp_put()
{
	atomic { users--; last = (users == 0) };
	if
	:: last ->
		last = false;
#ifndef NO_PUT_KICK
		/* NO_PUT_KICK: fault. */
		pending = true
#endif
	:: else
	fi
}

/* sched_setattr(), cpu.uclamp.{min,max}, the sysctls */
proctype sleeper()
{
	byte n, i;
	bool first, last;

	do
	:: n < NR_SLEEPER ->
		n++;
		uclamp_get();
		if	/* uclamp_enable_if_used() */
		:: atomic { state == ON -> sleeper_holds = true }
		:: atomic { state != ON -> skip };
			mutex_lock();
			if
			:: state != ON -> turn_on()
			:: else
			fi;
			atomic { mutex = false; sleeper_holds = true }
		fi;
		/* What the call was made for goes here. */
		if
		:: true
		:: break
		fi;
		sleeper_holds = false;
		uclamp_put()
	:: break
	od
}

/* uclamp_post_fork(), sched_uclamp_free(): only atomics. */
proctype forker()
{
	byte n;
	bool first, last;

	do
	:: n < NR_FORKER ->
		n++;
		uclamp_get();
		if
		:: true
		:: break
		fi;
		uclamp_put()
	:: break
	od
}

#ifdef MAINLINE
/*
 * The form of the kernel without the series: no flag, no counter, no way back.
 * The first user makes the key live with static_branch_enable().
 */
proctype mainline()
{
	patch_sites(true);
	state = ON
}
#endif

/* --- What has to hold --------------------------------------------------- */

#define COUNTED(p, r)	(task[p].is_active && task[p].on_rq == QUEUED &&	\
			 task[p].cpu == r)
/*
 * A task that is queued where all should be counted, and is not. Exempt is an
 * exiting task: one that is not on the task list any more when the accounting is
 * turned on is not counted, and runs with the clamps of others until it is
 * dequeued.
 */
#ifdef MAINLINE
#define ALL_COUNTED(r)	(state == ON)
#else
#define ALL_COUNTED(r)	rq[r].valid
#endif
#define ALONE(p)	(task[p].hashed && task[p].on_rq == QUEUED &&	\
			 !task[p].is_active && ALL_COUNTED(task[p].cpu) && \
			 UNLOCKED(task[p].cpu))
#if NR_TASK == 1
#define NR_COUNTED(r)	COUNTED(0, r)
#define NR_ACTIVE	task[0].is_active
#define ANY_ALONE	ALONE(0)
#elif NR_TASK == 2
#define NR_COUNTED(r)	(COUNTED(0, r) + COUNTED(1, r))
#define NR_ACTIVE	(task[0].is_active + task[1].is_active)
#define ANY_ALONE	(ALONE(0) || ALONE(1))
#else
#define NR_COUNTED(r)	(COUNTED(0, r) + COUNTED(1, r) + COUNTED(2, r))
#define NR_ACTIVE	(task[0].is_active + task[1].is_active + task[2].is_active)
#define ANY_ALONE	(ALONE(0) || ALONE(1) || ALONE(2))
#endif

#define COUNTS_MATCH							\
	(!(UNLOCKED(0) && rq[0].count != NR_COUNTED(0)) &&		\
	 !(UNLOCKED(1) && rq[1].count != NR_COUNTED(1)) &&		\
	 !(UNLOCKED(0) && UNLOCKED(1) &&				\
	   rq[0].count + rq[1].count != NR_ACTIVE))

proctype monitor()
{
end:
	do
	:: WANTED(I_COUNTS) && !(COUNTS_MATCH) -> assert(counts_match)
#ifndef MAINLINE
	:: WANTED(I_OFF) && state == OFF && !mutex &&
	   (site_inc || site_dec || rq[0].on || rq[1].on ||
	    rq[0].valid || rq[1].valid ||
	    rq[0].count > 0 || rq[1].count > 0 || NR_ACTIVE > 0) ->
		assert(off_is_off)
	:: WANTED(I_FLAGS) && ((rq[0].on || rq[1].on) && !(site_inc && site_dec) ||
			       rq[0].valid && !rq[0].on || rq[1].valid && !rq[1].on) ->
		assert(flags_nest)
	:: WANTED(I_SLEEPER) && (sleeper_holds || state == ON) &&
	   !(rq[0].valid && rq[1].valid) ->
		assert(on_for_sleeper)
#endif
	:: WANTED(I_QUEUED) && ANY_ALONE -> assert(queued_are_counted)
	od
}

init {
	atomic {
#ifdef MAINLINE
		run mainline();
#else
		run worker();
#if NR_SLEEPER > 0
		run sleeper();
#endif
#if NR_FORKER > 0
		run forker();
#endif
#endif
#ifndef LIVENESS
		run monitor();
#endif
#if NR_WRITER > 0
		run writer();
#endif
		run task_thread(0);
#if NR_TASK > 1
		run task_thread(1);
#endif
#if NR_TASK > 2
		run task_thread(2);
#endif
	}
}

#ifdef LIVENESS
ltl goes_off { (<>[] (users == 0)) -> (<>[] (state == OFF)) }
ltl goes_on { (<>[] (users > 0)) -> (<>[] (state == ON)) }
#endif
