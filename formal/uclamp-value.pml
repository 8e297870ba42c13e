/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The clamp values of the rqs, and what others read of them, while the uclamp
 * accounting is switched on and off. uclamp.pml has the switching itself.
 *
 * Run: formal/check, which holds the table of all variants, or by hand
 *
 *	spin -a uclamp-value.pml && gcc -O2 -DSAFETY -o pan pan.c && ./pan -m1000000
 *
 * events	everything that happens to tasks, in any order, which is more than
 *		the kernel has: they change their clamp when they like, and move
 *		to another rq as a dequeue and an enqueue.
 * work		turns the accounting on and off when it likes, in the order of the
 *		kernel.
 *
 * A section under the lock of a rq is one step. Jump labels, users and
 * uclamp_mutex are not here.
 *
 * Only UCLAMP_MAX: UCLAMP_MIN is the same without the value that an idle rq
 * retains. Each of the two clamp values has a bucket of its own: bucket[].value
 * is the index, and used says which counts are not 0.
 *
 * Others read a rq under its lock here. Without it they may see two moments at
 * once, for as long as their reads take.
 *
 * Faults to build in, each by a -D of that name, are described where they are.
 */

#ifndef NR_TASK
#define NR_TASK		2	/* or 3 */
#endif
#define NR_RQ		2
#define NO_RQ		2

#define LOW		1
#define NONE		2	/* uclamp_none(UCLAMP_MAX), what has no clamp */

typedef rq_t {
	bool on;		/* UCLAMP_FLAG_ON */
	bool valid;		/* UCLAMP_FLAG_VALID */
	byte value = NONE;	/* rq->uclamp[UCLAMP_MAX].value */
	byte tasks[3];		/* rq->uclamp[UCLAMP_MAX].bucket[].tasks */
	byte last = NONE;	/* what the last task had that was counted */
};

typedef task_t {
	byte cpu = NO_RQ;	/* where it is queued */
	bool hashed = true;	/* on the task list */
	bool is_active;		/* p->uclamp[UCLAMP_MAX].active */
	byte value = NONE;	/* p->uclamp[UCLAMP_MAX].value */
	byte req = NONE;	/* what uclamp_eff_get() returns */
};

rq_t rq[NR_RQ];
task_t task[NR_TASK];
bool off = true;		/* the state is OFF */

/*
 * FAIL_IF(n, cond, name): fails when cond holds. The variables are always
 * false: a failed assertion is reported by the name of what does not hold.
 * With -DONLY=n, nothing but this one fails.
 */
bool bucket_has_task, bucket_below_rq, value_is_max, idle_retains;
bool off_is_default, reader_sees_max, idle_is_idle, sums_or_boost;

#define I_BUCKET	1
#define I_BELOW		2
#define I_VALUE		3
#define I_RETAINS	4
#define I_OFF		5
#define I_READER	6
#define I_IDLE		7

#ifdef ONLY
#define WANTED(n)	(ONLY == n)
#else
#define WANTED(n)	true
#endif

#define FAIL_IF(n, cond, name)						\
	if								\
	:: WANTED(n) && (cond) -> assert(name)				\
	:: else								\
	fi

/* A place that is to be reached: pan lists the statement when it was not. */
#define MARK(cond, what)						\
	if								\
	:: cond -> printf(what)						\
	:: else								\
	fi

#define USED(r)		(rq[r].tasks[LOW] + rq[r].tasks[NONE] > 0)
#define TOP(r)		(rq[r].tasks[NONE] > 0 -> NONE : LOW)

/* --- What others read --------------------------------------------------- */

#ifdef GATE_ON
/* Fault: reads as soon as the rq counts, before all are counted. */
#define GATE(r)		rq[r].on
#else
#define GATE(r)		rq[r].valid
#endif

/* uclamp_rq_get() */
#define SEES(r)		(GATE(r) -> rq[r].value : NONE)

/* uclamp_rq_is_idle() */
#ifdef IDLE_UNGATED
/* Fault: a rq on which nobody is counted is idle, whether VALID or not. */
#define IS_IDLE(r)	(!USED(r))
#else
#define IS_IDLE(r)	(GATE(r) && !USED(r))
#endif

/*
 * A task that is queued and clamped below what it asks for. Exempt is an exiting
 * task, which is not on the task list any more and may not be counted.
 */
#define ON_RQ(p, r)	(task[p].cpu == r && task[p].hashed)
#define ASKS(p)		(task[p].is_active -> task[p].value : task[p].req)
#define BELOW(p, r)	(ON_RQ(p, r) && SEES(r) < ASKS(p))
#if NR_TASK == 2
#define ANY_BELOW(r)	(BELOW(0, r) || BELOW(1, r))
#define ANY_ON_RQ(r)	(ON_RQ(0, r) || ON_RQ(1, r))
#else
#define ANY_BELOW(r)	(BELOW(0, r) || BELOW(1, r) || BELOW(2, r))
#define ANY_ON_RQ(r)	(ON_RQ(0, r) || ON_RQ(1, r) || ON_RQ(2, r))
#endif

inline check_rq(r)
{
	FAIL_IF(I_VALUE, USED(r) && rq[r].value != TOP(r), value_is_max);
	FAIL_IF(I_RETAINS, !USED(r) && rq[r].value != rq[r].last, idle_retains);
	FAIL_IF(I_READER, ANY_BELOW(r), reader_sees_max);
	FAIL_IF(I_IDLE, IS_IDLE(r) && ANY_ON_RQ(r), idle_is_idle);
	FAIL_IF(I_OFF, off && (rq[r].on || rq[r].valid || USED(r) ||
			       rq[r].value != NONE), off_is_default)
}

inline check_invariants()
{
	check_rq(0);
	check_rq(1)
}

/* --- Counting ----------------------------------------------------------- */

inline count_task(r, p)
{
	task[p].value = task[p].req;
	task[p].is_active = true;
	if
#ifdef KEEPS_RETAINED
	/* Fault: the first task does not end the retention. */
	:: task[p].value > rq[r].value ->
#else
	:: !USED(r) || task[p].value > rq[r].value ->
#endif
		rq[r].value = task[p].value
	:: else
	fi;
	rq[r].tasks[task[p].value]++
}

inline uncount_task(r, p)
{
#ifdef EFF_EARLY
	/* Fault: p->uclamp[] is brought up to date while the task is counted. */
	task[p].value = task[p].req;
#endif
	FAIL_IF(I_BUCKET, rq[r].tasks[task[p].value] == 0, bucket_has_task);
	task[p].is_active = false;
	rq[r].tasks[task[p].value]--;
	if
	:: !USED(r) -> rq[r].last = task[p].value
	:: else
	fi;
	if
	:: rq[r].tasks[task[p].value] == 0 ->
		FAIL_IF(I_BELOW, task[p].value > rq[r].value, bucket_below_rq);
		if
		:: task[p].value < rq[r].value
		:: task[p].value >= rq[r].value && USED(r) ->
			rq[r].value = TOP(r)
		:: task[p].value >= rq[r].value && !USED(r) ->
			rq[r].value = task[p].value
		fi
	:: else
	fi
}

/* --- Tasks -------------------------------------------------------------- */

#define ENQUEUE(p, r)							\
	atomic {							\
		task[p].cpu == NO_RQ ->					\
		task[p].cpu = r;						\
		if							\
		:: rq[r].on -> count_task(r, p)				\
		:: else							\
		fi;							\
		check_invariants()					\
	}

#define EVENTS(p)							\
	:: ENQUEUE(p, 0)						\
	:: ENQUEUE(p, 1)						\
	:: atomic {	/* dequeue_task(), the last time too */		\
		task[p].cpu != NO_RQ ->					\
		if							\
		:: task[p].is_active -> uncount_task(task[p].cpu, p)	\
		:: else							\
		fi;							\
		task[p].cpu = NO_RQ;					\
		task[p].hashed = true;					\
		check_invariants()					\
	   }								\
	:: atomic {	/* release_task() */				\
		p == 0 && task[p].cpu != NO_RQ -> task[p].hashed = false	\
	   }								\
	:: task[p].req != LOW -> task[p].req = LOW			\
	:: task[p].req != NONE -> task[p].req = NONE			\
	:: atomic {	/* uclamp_update_active() */			\
		task[p].is_active ->					\
		MARK(!rq[task[p].cpu].on, "counted again in DRAIN");	\
		uncount_task(task[p].cpu, p);				\
		count_task(task[p].cpu, p);				\
		check_invariants()					\
	   }

active proctype events()
{
end:
	do
	EVENTS(0)
	EVENTS(1)
#if NR_TASK > 2
	EVENTS(2)
#endif
	od
}

/* --- Switching ---------------------------------------------------------- */

inline set_flags(o, v)
{
	do
	:: i < NR_RQ ->
		atomic {
			MARK(!USED(i) && rq[i].value == LOW && !rq[i].on && o,
			     "ON again, an idle rq retains what it had before DRAIN");
			MARK(!USED(i) && rq[i].value == LOW && rq[i].valid && !v,
			     "an idle rq retains a clamp when VALID goes");
			rq[i].on = o;
			rq[i].valid = v;
#ifdef RESET_EARLY
			/* Fault: resets while tasks are counted. */
			if
			:: !o -> rq[i].value = NONE
			:: else
			fi;
#endif
			i++;
			check_invariants()
		}
	:: else -> break
	od;
	i = 0
}

inline count_queued()
{
	do
	:: i < NR_TASK ->
		atomic {
			if
			:: task[i].hashed && task[i].cpu != NO_RQ &&
			   !task[i].is_active ->
				count_task(task[i].cpu, i)
			:: else
			fi;
			i++;
			check_invariants()
		}
	:: else -> break
	od;
	i = 0
}

inline uncount_tasks()
{
	do
	:: i < NR_TASK ->
		atomic {
			if
			:: task[i].hashed && task[i].is_active ->
				uncount_task(task[i].cpu, i)
			:: else
			fi;
			i++;
			check_invariants()
		}
	:: else -> break
	od;
	i = 0
}

/* uclamp_reset_rqs(): up to the first that counts. */
inline reset_rqs()
{
	do
	:: i < NR_RQ && !left ->
		atomic {
			if
			:: USED(i) ->
				MARK(i == 1, "one rq is reset, the next one counts");
				left = true
			:: else ->
#ifndef NO_RESET
				/* NO_RESET: fault, the next ON finds old clamps. */
				rq[i].value = NONE;
				rq[i].last = NONE
#endif
			fi;
			i++;
			check_invariants()
		}
	:: else -> break
	od;
	i = 0
}

active proctype work()
{
	byte i;
	bool left;

end:
	do
	:: true ->
		off = false;
		set_flags(true, false);
		count_queued();
		set_flags(true, true);
		set_flags(false, false);
		uncount_tasks();
		do
		:: true ->
			reset_rqs();
			if
			:: left -> left = false
			:: else ->
				atomic { off = true; check_invariants() };
				break
			fi
		:: true -> break	/* users again */
		od
	od
}

#ifdef TWO_LOOKS
/*
 * Fault: effective_cpu_util() looks for VALID once to read the minimum, and once
 * more to boost RT tasks whose clamps are not known: neither, when VALID is set
 * in between. Without the lock of the rq.
 */
active proctype reader()
{
	bool sums, boost;

end:
	do
	:: sums = rq[0].valid;
	   boost = !rq[0].valid;
	   if
	   :: !sums && !boost -> assert(sums_or_boost)
	   :: else
	   fi
	od
}
#endif
