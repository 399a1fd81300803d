# The real builds of the NPU program: what they are made of and what their kernels cost.
npu_python_test(htp_elf htp/htp_elf.py TIMEOUT 1800 COST 90)
npu_python_test(htp_builtins htp/builtins_check.py)
npu_python_test(htp_units htp/htp_units.py)
npu_python_test(htp_packets ../scripts/htp-packets --qemu --check TIMEOUT 900 COST 30)
npu_python_test(hexagon_trace_cost htp/trace_cost.py TIMEOUT 900 COST 40)
