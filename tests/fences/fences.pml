/* The fence protocol (wire/fence.h, htp/fence.c, src/target/hexagon/hexagon_group_run.c), for Spin: N devices run BATCHES
 * batches of BARRIERS barriers each, with at most one fault at any step: a device dies, hangs, its op fails, or the host
 * can't send it the next part of a batch (of which each has a barrier) and gives it up while it works on the one before.
 *
 * Checked: who passes a barrier with OK was preceded by all others (no early pass); nobody sleeps for ever (no lost
 * wake-up, whatever dies); a failure of one batch is never seen in the next; without a fault nothing fails. MUTANT
 * breaks the protocol in one place, and the check must fail then (tests/fences.py). */
#ifndef BARRIERS
#define BARRIERS 2
#endif
#define RANGE    4
#include "fences_common.pml"

/* Parts go to all devices in turn; with ALL_SENT they have been sent, which is far fewer states. */
inline send_parts() {
#ifdef ALL_SENT
    d_step { sent[0] = BARRIERS; sent[1] = BARRIERS; sent[N - 1] = BARRIERS };
    p = BARRIERS * N;
#else
    p = 0;
#endif
    do
    :: p < BARRIERS * N ->
        if
        :: sent[p % N]++; p++
        :: may_fault -> may_fault = false; fault = true; gone[p % N] = true; let_go(p % N); break
        fi
    :: else -> break
    od;
    closed = true
}

proctype device(byte i) {
    byte k, j, seen, st, n;
end_next:
    go[i];
    go[i] = false;
    k = 0;
    do
    :: k < BARRIERS ->
        if
        :: sent[i] > k -> k++
        :: closed && sent[i] <= k -> break
        fi;
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
            /* Both words of a line are read at once, as they are in memory (MUTANT 12: from two fills of it). */
            d_step { seen = mem_seq[j]; st = mem_status[j] }
            if
            :: REACHED(seen, (base + k) % MOD) ->
#if MUTANT == 12
                st = mem_status[j];
#endif
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
    signal(i, LAST, FAILED);
#endif
    failed[i] = true;
    done[i] = true;
    goto end_next;
end_over:
    false /* dead or hung */
}

#include "fences_init.pml"
