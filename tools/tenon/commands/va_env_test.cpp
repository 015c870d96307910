// SPDX-License-Identifier: Apache-2.0
// va-env: the program's environment and the messages if something is missing. drivers/vaapi tests what real clients
// then decode.
#include <tenon/tools/tenon/testing/tool.hpp>

namespace tenon::tool::testing {
namespace va_env_test {

using VaEnv = ToolTest;

TEST_F(VaEnv, GivesTheProgramDriverAndStandIn) {
  const Outcome done = tool("va-env -- sh -c 'echo $LIBVA_DRIVER_NAME $GST_VA_ALL_DRIVERS; echo $LD_PRELOAD'");
  if (done.status == 69) GTEST_SKIP() << "this build has no software VA-API driver";
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_TRUE(done.out.starts_with("tenon 1\n")) << done.out;
  EXPECT_EQ(done.out.find("libtenon_render_node.so") != std::string::npos, !fs::exists("/dev/dri/renderD128"))
      << done.out;
  EXPECT_EQ(tool("va-env -- sh -c 'exit 7'").status, 7);
}

TEST_F(VaEnv, SaysWhatIsMissing) {
  expect_one_message(tool("va-env"), "needs a program");
  expect_one_message(tool("va-env --print true"), "--print takes no program");
  expect_one_message(tool("va-env --driver no_such_drv_video.so -- true"), "no driver at");
}

}  // namespace va_env_test
}  // namespace tenon::tool::testing
