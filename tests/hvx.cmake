# The HVX intrinsics for a PC against the real instructions, and what htp/hvx makes of them against scalar C.
npu_python_test(hvx_intrinsics hvx/hvx_check.py TIMEOUT 900)
npu_python_test(hvx_kernels hvx/kernel_check.py TIMEOUT 1200)
