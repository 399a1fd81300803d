npu_python_test(cli cli.py SANITIZED)
