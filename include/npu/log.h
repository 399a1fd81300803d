/* Log callback. The library never prints: whoever opens a model or target passes a logger down.
 * A logger is a plain value {callback, context, level}; copy it freely. The callback may be called from any
 * thread, one call at a time is NOT guaranteed; |text| is one line without newline, valid during the call.
 */
#ifndef NPU_LOG_H
#define NPU_LOG_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum npu_log_level { NPU_LOG_ERROR, NPU_LOG_WARN, NPU_LOG_INFO, NPU_LOG_DEBUG } npu_log_level;

typedef struct npu_logger {
    void (*callback)(void *context, npu_log_level level, const char *text); /* NULL: log nothing */
    void *context;
    npu_log_level level; /* messages above this level are not formatted */
} npu_logger;

#ifdef __cplusplus
}
#endif
#endif
