# Speed and memory against the peer, which scripts/check builds for the full tier.
if(TARGET npu_cli)
  npu_command_test(versus ${PROJECT_SOURCE_DIR}/scripts/versus --npu $<TARGET_FILE:npu_cli> --enforce FULL SERIAL TIMEOUT 3600)
endif()
