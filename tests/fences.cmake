# The fence protocol of several devices, model-checked; broken in one place at a time, the check must fail.
npu_python_test(fences_model fences/fences.py TIMEOUT 3600 COST 50)
