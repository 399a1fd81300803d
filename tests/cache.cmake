# The weight cache (docs/cache.md) through the program; its parts: src/cache/*_test.c.
npu_python_test(weight_cache.host weight_cache.py host TIMEOUT 900)
if(hexagon IN_LIST NPU_TARGETS)
  npu_python_test(weight_cache.hexagon weight_cache.py hexagon TIMEOUT 900)
endif()
