/* The same protocol where devices follow each other (a split by layers): a step goes in PARTS parts of its rows through N
 * devices. Part k of device i has number base + k * N + i + 1; it waits for the number before, of device i - 1, and
 * signals its own, so a device is parts ahead of the next one and several of its signals are under way, around the wrap
 * of the numbers too. At most one fault at any step, as in fences.pml.
 *
 * Checked besides: who passes with OK was preceded by that very part, made without a failure (none is missed however
 * late one looks): a failure is the last word in its batch (MUTANT 9: it is not). */
#ifndef PARTS
#define PARTS 2
#endif
#define RANGE 8
#include "fences_common.pml"
#define NUMBER ((base + k * N + i + 1) % MOD)

/* Nobody waits for a part that was not sent: what comes before is sent first. */
inline send_parts() { skip }

byte made[N]; /* bit k: part k, of this batch */

/* Waits until device i - 1 has come to |wanted|; |st| is what it said. */
inline wait_before(wanted) {
    do
    :: true ->
        d_step { seen = mem_seq[i - 1]; st = mem_status[i - 1] }
        if
        :: REACHED(seen, wanted) -> break
        :: else ->
#if MUTANT == 4
            sleeping[i] = true;
#else
            d_step {
                if
                :: mem_seq[i - 1] == seen -> sleeping[i] = true
                :: else -> skip
                fi
            }
#endif
            STRUCK;
            if
            :: !sleeping[i] -> skip
            :: let[i - 1] && mem_seq[i - 1] != seen -> sleeping[i] = false
            :: hangs > 0 -> sleeping[i] = false; st = FAILED; break /* time is up */
            fi
        fi
    od
}

proctype device(byte i) {
    byte k, seen, st, n;
    bool over;
end_next:
    go[i];
    d_step { go[i] = false; k = 0; over = false; made[i] = 0 }
    do
    :: k < PARTS ->
        st = 0;
        if
        :: over -> skip /* answered with a failure; nothing runs and nothing is signalled */
        :: else ->
            STRUCK;
            if
            :: i > 0 -> wait_before((NUMBER + MOD - 1) % MOD)
            :: else -> skip
            fi;
            if
            :: st == 0 && may_fault -> may_fault = false; fault = true; st = FAILED
            :: else -> skip
            fi;
            if
            :: st != 0 ->
                assert(fault);
                failed[i] = true;
#if MUTANT == 5
                signal(i, (NUMBER + MOD - 1) % MOD, FAILED);
#else
                signal(i, LAST, FAILED);
#endif
#if MUTANT != 9
                over = true
#endif
            :: else ->
                if
                :: i > 0 -> assert(made[i - 1] & (1 << k))
                :: else -> skip
                fi;
                made[i] = made[i] | (1 << k);
                signal(i, NUMBER, 0)
            fi;
            STRUCK
        fi;
        k++
    :: else -> break
    od;
    done[i] = true;
    goto end_next;
end_over:
    false /* dead or hung */
}

#include "fences_init.pml"
