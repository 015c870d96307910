// SPDX-License-Identifier: Apache-2.0
// gpu-env: the program's environment, and the messages if something is missing. Whether real clients then find a
// GPU is tested in tests/gpu_clients.
#include <dlfcn.h>

#include <tenon/tools/tenon/shared/software_npu.hpp>
#include <tenon/tools/tenon/testing/tool.hpp>

namespace tenon::tool::testing {
namespace gpu_env_test {

class GpuEnv : public ToolTest {
 protected:
  void SetUp() override {
    ToolTest::SetUp();
    if (find_library("libtenon_gpu_layer.so").empty()) GTEST_SKIP() << "this build has no OpenCL layer";
    fs::create_directories(folder / "env/lib");
    fs::create_directories(folder / "env/bin");
    fs::create_symlink("/bin/sh", folder / "env/bin/sh");
  }
  /// A library under the runtime's name: any will do if only the environment is checked.
  fs::path add_runtime() {
    Dl_info info{};
    const bool known = dladdr(reinterpret_cast<void*>(&std::abort), &info) != 0 && info.dli_fname[0] == '/';
    const fs::path runtime = folder / "env/lib/libintelocl.so";
    fs::copy_file(known ? fs::canonical(info.dli_fname) : fs::path("/lib/x86_64-linux-gnu/libc.so.6"), runtime);
    write("env/lib/libOpenCL.so.1", "for machines without a loader");
    return fs::canonical(folder) / "env/lib/libintelocl.so";
  }
  /// Without what this machine and its user have installed.
  static constexpr const char* kBare = "HOME=/nonexistent VIRTUAL_ENV= PATH=/nonexistent";
};

TEST_F(GpuEnv, FindsTheRuntimeBesideTheProgram) {
  const std::string runtime = add_runtime().string();
  const Outcome done =
      tool("gpu-env -- env/bin/sh -c 'echo $OCL_ICD_VENDORS; echo $OCL_ICD_FILENAMES; echo $OPENCL_LAYERS'", kBare);
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(done.out, runtime + "\n" + runtime + "\n" + find_library("libtenon_gpu_layer.so").string() + "\n");
}

TEST_F(GpuEnv, TakesTheRuntimeThatIsNamedAndTheActiveOne) {
  const std::string runtime = add_runtime().string();
  const std::string print = " -- /bin/sh -c 'echo $OCL_ICD_VENDORS'";
  EXPECT_EQ(tool("gpu-env --runtime env/lib" + print, kBare).out, runtime + "\n");
  EXPECT_EQ(tool("gpu-env --runtime env/lib/libintelocl.so" + print, kBare).out, runtime + "\n");
  EXPECT_EQ(tool("gpu-env" + print,
                 "HOME=/nonexistent PATH=/nonexistent VIRTUAL_ENV='" + (fs::canonical(folder) / "env").string() + "'")
                .out,
            runtime + "\n");
}

TEST_F(GpuEnv, PassesOptionsOnAndLeavesTheCallersSettings) {
  add_runtime();
  const std::string print =
      " -- /bin/sh -c 'echo $TENON_GPU_NAME; echo $TENON_GPU_MEMORY $CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE; echo "
      "${OPENCL_LAYERS##*:}'";
  EXPECT_EQ(tool("gpu-env --runtime env/lib --name 'Some GPU' --memory 1000000" + print, "OPENCL_LAYERS=/other.so").out,
            "Some GPU\n1000000 64KB\n/other.so\n");
  EXPECT_EQ(
      tool("gpu-env --runtime env/lib" + print, "CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE=32KB OPENCL_LAYERS=/other.so").out,
      "\n32KB\n/other.so\n");
  EXPECT_EQ(tool("gpu-env --runtime env/lib -- /bin/sh -c 'exit 7'").status, 7);
}

TEST_F(GpuEnv, PrintsWhatAShellEvaluates) {
  const std::string runtime = add_runtime().string();
  const Outcome done = tool("gpu-env --runtime env/lib --print");
  EXPECT_NE(done.out.find("export OCL_ICD_VENDORS='" + runtime + "'\n"), std::string::npos) << done.out << done.err;
}

TEST_F(GpuEnv, RefusesWithOneMessage) {
  expect_one_message(tool("gpu-env"), "needs a program");
  expect_one_message(tool("gpu-env --print true"), "--print takes no program");
  expect_one_message(tool("gpu-env --runtime none.so -- true"), "no OpenCL runtime at none.so");
  expect_one_message(tool("gpu-env -- env/bin/sh", kBare), "pip install intel-opencl-rt");
  expect_one_message(tool("gpu-env --memory many -- true"), "--memory");
  write("env/lib/libintelocl.so", "no library");
  expect_one_message(tool("gpu-env -- env/bin/sh", kBare), "cannot be loaded");
}

}  // namespace gpu_env_test
}  // namespace tenon::tool::testing
