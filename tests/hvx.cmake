# The HVX intrinsics for a PC against the real instructions.
npu_python_test(hvx hvx/hvx_check.py TIMEOUT 600)
