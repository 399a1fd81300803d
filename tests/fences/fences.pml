/* The fence protocol (wire/fence.h, htp/fence.c, src/target/hexagon/hexagon_group.c), for Spin: N devices run BATCHES
 * batches of BARRIERS barriers each, with at most one fault at any step: a device dies, hangs, or its op fails.
 *
 * Memory is by line: a device writes its own line in its cache, which may be evicted early, and sees others' as they
 * are in memory when it drops its copy. Numbers are of four bits and compared as signed differences, so every run wraps.
 *
 * Checked: who passes a barrier with OK was preceded by all others (no early pass); nobody sleeps for ever (no lost
 * wake-up, whatever dies); a failure of one batch is never seen in the next; without a fault nothing fails. MUTANT
 * breaks the protocol in one place, and the check must fail then (tests/fences.py). */
#ifndef N
#define N 2
#endif
#ifndef BATCHES
#define BATCHES 4
#endif
#ifndef MUTANT
#define MUTANT 0
#endif
#define BARRIERS 2
#define MOST (BARRIERS + 1)
#define MOD 16
#if MUTANT == 3
#define REACHED(s, w) ((s) >= (w))
#else
#define REACHED(s, w) ((((s) - (w)) & (MOD - 1)) < MOD / 2)
#endif
#define FAILED 1

byte mem_seq[N], mem_status[N];   /* slots in memory */
byte line_seq[N], line_status[N]; /* in their owner's cache */
byte base, arrived[N];
bool go[N], done[N], failed[N], dead[N], hung[N], let[N], sleeping[N], awake[N];
bool may_fault = true, fault; /* once in a run; in this batch */
byte hangs;

inline clean(i) {
    d_step { mem_seq[i] = line_seq[i]; mem_status[i] = line_status[i] }
}

inline evict(i) {
    if
    :: clean(i)
    :: skip
    fi
}

inline signal(i, s, st) {
#if MUTANT == 1
    line_seq[i] = s;
    evict(i);
    line_status[i] = st;
#else
    line_status[i] = st;
    evict(i);
    line_seq[i] = s;
    evict(i);
#endif
#if MUTANT != 2
    clean(i);
#endif
#if MUTANT != 8
    d_step {
        n = 0;
        do
        :: n < N -> sleeping[n] = false; n++
        :: else -> break
        od;
        n = 0
    }
#endif
}

/* A device may be struck wherever this stands; OP: its op may fail here too. */
#define STRUCK \
    if \
    :: may_fault -> may_fault = false; fault = true; dead[i] = true; goto end_over \
    :: may_fault -> may_fault = false; fault = true; hung[i] = true; hangs++; goto end_over \
    :: skip \
    fi

proctype device(byte i) {
    byte k, j, seen, st, n;
end_next:
    go[i];
    go[i] = false;
    k = 0;
    do
    :: k < BARRIERS ->
        k++;
        if
        :: may_fault -> may_fault = false; fault = true; goto fail
        :: skip
        fi;
        STRUCK;
        arrived[i] = k;
        signal(i, (base + k) % MOD, 0);
        STRUCK;
        j = 0;
        do
        :: j < N && j == i -> j++
        :: j < N && j != i ->
            /* A line is read as it is in memory; the status may come from a later fill of it. */
            d_step { seen = mem_seq[j]; st = mem_status[j] }
            if
            :: REACHED(seen, (base + k) % MOD) ->
                if
                :: st = mem_status[j]
                :: skip
                fi;
                if
                :: st != 0 -> assert(fault); goto fail
                :: else -> assert(arrived[j] >= k); j++
                fi
            :: else ->
                /* The kernel looks at the word again before it lets the thread sleep. */
#if MUTANT == 4
                sleeping[i] = true;
#else
                d_step {
                    if
                    :: mem_seq[j] == seen -> sleeping[i] = true
                    :: else -> skip
                    fi
                }
#endif
                STRUCK;
                if
                :: !sleeping[i] -> skip
                :: let[j] && mem_seq[j] != seen -> sleeping[i] = false /* it looks again after a millisecond */
                :: hangs > 0 -> sleeping[i] = false; goto fail         /* time is up */
                fi
            fi
        :: else -> break
        od
    :: else -> break
    od;
    done[i] = true;
    goto end_next;
fail:
#if MUTANT == 5
    signal(i, (base + k - 1) % MOD, FAILED);
#else
    signal(i, (base + MOST) % MOD, FAILED);
#endif
    failed[i] = true;
    done[i] = true;
    goto end_next;
end_over:
    false /* dead or hung */
}

inline let_go(j) {
#if MUTANT != 6
    mem_status[j] = FAILED;
    mem_seq[j] = (base + MOST) % MOD;
#endif
    let[j] = true
}

init {
    byte b, j, open;
    bool lost;
    atomic {
        base = MOD - 2;
        j = 0;
        do
        :: j < N -> mem_seq[j] = base; line_seq[j] = base; run device(j); j++
        :: else -> break
        od
    }
    b = 0;
    do
    :: b < BATCHES ->
        d_step { /* nobody is at work */
            fault = false;
            j = 0;
            do
            :: j < N ->
                arrived[j] = 0; done[j] = false; failed[j] = false; let[j] = false; sleeping[j] = false;
#if MUTANT != 7
                mem_seq[j] = base; mem_status[j] = 0;
                line_seq[j] = base; line_status[j] = 0;
#endif
                go[j] = true; j++
            :: else -> break
            od
        }
        lost = false;
        do
        :: (done[0] || let[0]) && (done[1] || let[1]) && (N == 2 || done[N - 1] || let[N - 1]) &&
           (!dead[0] || let[0]) && (!dead[1] || let[1]) -> break
        :: dead[0] && !let[0] -> let_go(0); lost = true
        :: dead[1] && !let[1] -> let_go(1); lost = true
        :: N > 2 && dead[N - 1] && !let[N - 1] -> let_go(N - 1); lost = true
        :: hung[0] && !let[0] -> let_go(0); lost = true /* time is up */
        :: hung[1] && !let[1] -> let_go(1); lost = true
        :: N > 2 && hung[N - 1] && !let[N - 1] -> let_go(N - 1); lost = true
        od;
        /* Everybody who lives comes out. */
        (done[0] || dead[0] || hung[0]) && (done[1] || dead[1] || hung[1]) &&
            (N == 2 || done[N - 1] || dead[N - 1] || hung[N - 1]);
        j = 0;
        do
        :: j < N -> assert(fault || !failed[j]); j++
        :: else -> break
        od;
        if
        :: lost -> break /* a new group is made for the next request */
        :: else -> skip
        fi;
#if MUTANT == 7
        base = (base + 1) % MOD;
#else
        base = (base + MOST + 1) % MOD;
#endif
        b++
    :: else -> break
    od;
    assert(lost || b == BATCHES)
}
