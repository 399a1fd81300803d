# That lints fail when they find something.
npu_python_test(lints lints.py)
