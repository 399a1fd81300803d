/* What filters of lists share: filters_list.c and filters_sort.c. All give NULL or false after a failure. */
#ifndef NPU_CHAT_FILTERS_LIST_H
#define NPU_CHAT_FILTERS_LIST_H

#include "chat/interp.h"

npu__value *npu__lazy_list(npu__interp *in); /* empty; a generator to the template */
bool npu__add(npu__interp *in, npu__value *list, npu__value *v);

/* The attribute "a", "a.b" or "0" of a value. */
npu__value *npu__path(npu__interp *in, npu__value *v, const npu__value *attribute);

/* The filter "list": what can be iterated, as a new list. */
npu__value *npu__list_of(npu__interp *in, npu__value *v, npu__args *args);

#endif
