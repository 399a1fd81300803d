/* The host, and the start of all. */
init {
    byte b, j, p;
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
        begin_batch();
        send_parts();
        end_batch();
        if
        :: lost -> break /* a new group is made for the next request */
        :: else -> next_batch()
        fi
    :: else -> break
    od;
    assert(lost || b == BATCHES)
}
