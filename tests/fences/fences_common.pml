/* What the models of the fence protocol share (wire/fence.h): memory by line, signals, faults, the host's standing in.
 *
 * A device writes its own line in its cache, which may be evicted early, and sees others' as they are in memory when it
 * drops its copy; COHERENT: it writes in memory, as emulated devices do. Numbers are of few bits and compared as signed differences; a batch has the RANGE ones from |base| on, its
 * last is LAST; they wrap in the first. MUTANT breaks the protocol in one place. */
#ifndef N
#define N 2
#endif
#ifndef BATCHES
#define BATCHES 4
#endif
#ifndef MUTANT
#define MUTANT 0
#endif
#define MOD (4 * RANGE)
#define LAST ((base + RANGE - 1) % MOD)
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
byte sent[N];                 /* parts of the batch that a device was given */
bool gone[N], closed;         /* the host gave it up though it may live; nothing more is sent */
byte hangs;

#ifdef COHERENT
#define OWN_SEQ(i)    mem_seq[i]
#define OWN_STATUS(i) mem_status[i]
#define clean(i)      skip
#else
#define OWN_SEQ(i)    line_seq[i]
#define OWN_STATUS(i) line_status[i]
inline clean(i) {
    d_step { mem_seq[i] = line_seq[i]; mem_status[i] = line_status[i] }
}
#endif

inline evict(i) {
    if
    :: clean(i)
    :: skip
    fi
}

inline signal(i, s, st) {
#if MUTANT == 1
    OWN_SEQ(i) = s;
    evict(i);
    OWN_STATUS(i) = st;
#elif MUTANT == 13
    OWN_STATUS(i) = st;
    evict(i);
    OWN_SEQ(i) = s;
    evict(i);
#else
    d_step { OWN_STATUS(i) = st; OWN_SEQ(i) = s }
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

/* At once, since the owner may live and write its line back between two stores (MUTANT 11). */
inline let_go(j) {
#if MUTANT == 11
    mem_status[j] = FAILED;
    mem_seq[j] = LAST;
#elif MUTANT != 6
    d_step { mem_status[j] = FAILED; mem_seq[j] = LAST }
#endif
    let[j] = true
}

/* Nobody is at work. */
inline begin_batch() {
    d_step {
        fault = false;
        j = 0;
        do
        :: j < N ->
            arrived[j] = 0; done[j] = false; failed[j] = false; let[j] = false; sleeping[j] = false;
            sent[j] = 0; closed = false;
#if MUTANT != 7
            mem_seq[j] = base; mem_status[j] = 0;
            line_seq[j] = base; line_status[j] = 0;
#endif
            go[j] = true; j++
        :: else -> break
        od
    }
}

#define OVER(i)  (done[i] || let[i])
#define QUIET(i) (done[i] || dead[i] || hung[i] || gone[i])
#if MUTANT == 10
#define UNSAID(i) false
#else
#define UNSAID(i) (gone[i] && mem_seq[i] != LAST) /* it signalled for an earlier part, over the host's word */
#endif

/* Until everybody who lives has come out; |lost|: somebody does not. */
inline end_batch() {
    lost = gone[0] || gone[1] || gone[N - 1];
    do
    :: OVER(0) && OVER(1) && OVER(N - 1) && (!dead[0] || let[0]) && (!dead[1] || let[1]) &&
       QUIET(0) && QUIET(1) && QUIET(N - 1) -> break
    :: dead[0] && !let[0] -> let_go(0); lost = true
    :: dead[1] && !let[1] -> let_go(1); lost = true
    :: N > 2 && dead[N - 1] && !let[N - 1] -> let_go(N - 1); lost = true
    :: hung[0] && !let[0] -> let_go(0); lost = true /* time is up */
    :: hung[1] && !let[1] -> let_go(1); lost = true
    :: N > 2 && hung[N - 1] && !let[N - 1] -> let_go(N - 1); lost = true
    :: UNSAID(0) -> let_go(0)
    :: UNSAID(1) -> let_go(1)
    :: N > 2 && UNSAID(N - 1) -> let_go(N - 1)
    od;
    j = 0;
    do
    :: j < N -> assert(fault || !failed[j]); j++
    :: else -> break
    od
}

inline next_batch() {
#if MUTANT == 7
    base = (base + 1) % MOD;
#else
    base = (base + RANGE) % MOD;
#endif
    b++
}
