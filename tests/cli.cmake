npu_python_test(cli cli.py SANITIZED)
npu_python_test(cli_usage cli_usage.py SANITIZED)
