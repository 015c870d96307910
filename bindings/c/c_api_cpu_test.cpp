// SPDX-License-Identifier: Apache-2.0
// The C API with the CPU device, if it is built.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

#include <tenon/bindings/c/testing/fixture.hpp>

namespace tenon::c_api_test {
namespace c_api_cpu_test {

using ::testing::HasSubstr;

class CApiCpu : public ::testing::Test, public Objects {};

TEST_F(CApiCpu, TheCpuTellsTheStepsThatItRuns) {
  if (!std::getenv("TENON_DEVICE_PATH")) GTEST_SKIP() << "built without the CPU device";
  tenon_compiled_model_t* on_cpu = nullptr;
  ASSERT_EQ(tenon_core_compile_model(core, model, "CPU", nullptr, &on_cpu), TENON_OK) << tenon_last_error_message();
  tenon_model_t* steps = nullptr;
  ASSERT_EQ(tenon_compiled_model_get_runtime_model(on_cpu, &steps), TENON_OK) << tenon_last_error_message();
  tenon_compiled_model_free(on_cpu);
  EXPECT_EQ(tenon_model_input_count(steps), 1u);
  EXPECT_EQ(tenon_model_output_count(steps), 1u);
  tenon_port_t* port = nullptr;
  EXPECT_EQ(tenon_model_input_by_name(steps, "x", &port), TENON_OK);
  tenon_port_free(port);
  EXPECT_EQ(tenon_model_output_by_name(steps, "y", &port), TENON_OK);
  tenon_port_free(port);
  const std::string path = ::testing::TempDir() + "/c_api_steps_" + std::to_string(::getpid());
  ASSERT_EQ(tenon_model_save(steps, (path + ".xml").c_str(), nullptr), TENON_OK) << tenon_last_error_message();
  tenon_model_free(steps);
  std::ifstream file(path + ".xml");
  const std::string xml{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_THAT(xml, HasSubstr("name=\"sum\" type=\"Add\"")) << "a step under its node's name and type";
  EXPECT_THAT(xml, HasSubstr("originalLayersNames=\"sum\""));
  EXPECT_THAT(xml, HasSubstr("bytesWritten=\"16\""));
  EXPECT_THAT(xml, HasSubstr("type=\"ReadValue\"")) << "the state that is added to";
  std::remove((path + ".xml").c_str());
  std::remove((path + ".bin").c_str());
}

}  // namespace c_api_cpu_test
}  // namespace tenon::c_api_test
