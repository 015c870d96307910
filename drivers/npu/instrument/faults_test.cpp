// SPDX-License-Identifier: Apache-2.0
// Faults while the process runs, by the control socket: an unmodified client sees a device that is slow, hangs and is reset,
// is lost, or has no memory. ctest sets TENON_NPU_CONTROL and TENON_NPU_RESET_MS=200.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include <gmock/gmock.h>

#include <tenon/drivers/npu/testing/client.hpp>

namespace tenon::npu::test {
namespace faults_test {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Clock = std::chrono::steady_clock;

class NpuFaults : public NpuTest {
 protected:
  void SetUp() override {
    NpuTest::SetUp();
    ASSERT_EQ(say("clear"), "ok");
    queue = make_queue();
    fence = make_fence(queue);
    data = static_cast<unsigned char*>(allocate_host(64));
    list = make_list();
    const unsigned char one = 1;
    ASSERT_EQ(zeCommandListAppendMemoryFill(list, data, &one, 1, 64, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(say("clear"), "ok");
    EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeFenceDestroy(fence), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
    EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_SUCCESS);
    NpuTest::TearDown();
  }
  static void TearDownTestSuite() { ::unlink(path().c_str()); }
  static std::string path() {
    std::string path = std::getenv("TENON_NPU_CONTROL");
    return path.replace(path.find("%p"), 2, std::to_string(::getpid()));
  }
  static int connect() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path().c_str(), sizeof address.sun_path - 1);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << std::strerror(errno);
    return fd;
  }
  /// What the socket sends until a whole line has come, or it hangs up.
  static std::string line_from(int fd) {
    std::string text;
    for (char c; text.find('\n') == text.npos && ::recv(fd, &c, 1, 0) == 1;) text += c;
    return text.substr(0, text.find('\n'));
  }
  static std::string say(const std::string& command) {
    std::string answer;
    for (int i = 0; i < 5 && answer.empty();
         ++i) {  // On a busy machine a client may be silent for so long that it is sent away.
      const int fd = connect();
      (void)::send(fd, (command + "\n").data(), command.size() + 1, MSG_NOSIGNAL);
      answer = line_from(fd);
      ::close(fd);
    }
    return answer;
  }
  ze_result_t infer() {
    data[0] = 0;
    EXPECT_EQ(zeFenceReset(fence), ZE_RESULT_SUCCESS);
    const ze_result_t result = zeCommandQueueExecuteCommandLists(queue, 1, &list, fence);
    return result == ZE_RESULT_SUCCESS ? zeFenceHostSynchronize(fence, 10 * kSecond) : result;
  }

  ze_command_queue_handle_t queue = nullptr;
  ze_fence_handle_t fence = nullptr;
  ze_command_list_handle_t list = nullptr;
  unsigned char* data = nullptr;
};

TEST_F(NpuFaults, TheSocketSaysWhatItDidAndWhatIsWrong) {
  EXPECT_THAT(say("status"), StartsWith("ok: works, "));
  struct stat status {};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u) << "this user's alone";
  EXPECT_THAT(say("status please"), StartsWith("error: 'status' takes nothing more"));
  EXPECT_THAT(say("explode"), StartsWith("error: commands are status, fail RULES"));
  EXPECT_THAT(say("fail"), StartsWith("error: no rule"));
  EXPECT_THAT(say("fail zeFenceCraete=ERROR_UNKNOWN"), HasSubstr("names no call of this driver"));
  EXPECT_THAT(say("fail zeFenceCreate=hang"), HasSubstr("only executions can"));
  EXPECT_THAT(say("fail execution=slow(-1ms)"), HasSubstr("slows by a time"));
  EXPECT_THAT(say("fail execution:1=hang,execution:0=lost"), HasSubstr("counts calls from 1"));
  EXPECT_THAT(say("status"), HasSubstr(" 0 rules")) << "a wrong rule adds none of its line";
  EXPECT_THAT(say("memory lots"), StartsWith("error: memory takes a number of bytes"));
  // Bytes without an end, and nothing at all, are sent away; the next client is served.
  const int endless = connect();
  const std::string noise(5000, 'x');
  EXPECT_GT(::send(endless, noise.data(), noise.size(), MSG_NOSIGNAL), 0);
  EXPECT_EQ(line_from(endless), "error: a line has at most 4096 bytes");
  ::close(endless);
  const int silent = connect();
  EXPECT_THAT(say("status"), StartsWith("ok: works")) << "after at most two seconds";
  ::close(silent);
  EXPECT_EQ(infer(), ZE_RESULT_SUCCESS);
}

TEST_F(NpuFaults, ADeviceIsSlowFromTheNthExecutionOn) {
  const auto time_of = [&] {
    const auto begin = Clock::now();
    EXPECT_EQ(infer(), ZE_RESULT_SUCCESS);
    EXPECT_EQ(data[0], 1);
    return Clock::now() - begin;
  };
  Clock::duration first{}, cleared{};
  for (int i = 0; i < 10; ++i) {  // On a busy machine an execution that nothing slows may take as long: then once more.
    ASSERT_EQ(say("fail execution:2+=slow(100ms)"), "ok");
    first = time_of();
    EXPECT_GE(time_of(), milliseconds(100));
    EXPECT_GE(time_of(), milliseconds(100));
    ASSERT_EQ(say("clear"), "ok");
    cleared = time_of();
    if (std::max(first, cleared) < milliseconds(100)) break;
  }
  EXPECT_LT(first, milliseconds(100));
  EXPECT_LT(cleared, milliseconds(100));
}

TEST_F(NpuFaults, AHungDeviceIsResetAndWorksAgain) {
  const auto other = make_queue();
  auto second = make_list();
  ASSERT_EQ(zeCommandListClose(second), ZE_RESULT_SUCCESS);
  bool was_in_time = false;
  for (int i = 0; i < 20 && !was_in_time;
       ++i) {  // On a busy machine the reset may come before what is to hang with it: then once more.
    ASSERT_EQ(say("fail execution:1=hang"), "ok");
    data[0] = 0;
    EXPECT_EQ(zeFenceReset(fence), ZE_RESULT_SUCCESS);
    const auto begin = Clock::now();
    ASSERT_EQ(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence), ZE_RESULT_SUCCESS);
    const ze_result_t early = zeFenceHostSynchronize(fence, 50'000'000);
    (void)zeCommandQueueExecuteCommandLists(other, 1, &second, nullptr);
    was_in_time = say("status").starts_with("ok: hung, ");
    EXPECT_EQ(zeFenceHostSynchronize(fence, 10 * kSecond), ZE_RESULT_ERROR_DEVICE_LOST);
    EXPECT_GE(Clock::now() - begin, milliseconds(190)) << "TENON_NPU_RESET_MS is 200";
    EXPECT_EQ(data[0], 0) << "what hung did nothing";
    const ze_result_t ended = zeCommandQueueSynchronize(other, 10 * kSecond);
    EXPECT_TRUE(!was_in_time || early == ZE_RESULT_NOT_READY) << "it hangs";
    EXPECT_TRUE(!was_in_time || ended == ZE_RESULT_ERROR_DEVICE_LOST) << "the reset ends all work";
    ASSERT_EQ(say("clear"), "ok");
  }
  EXPECT_TRUE(was_in_time);
  EXPECT_EQ(zeDeviceGetStatus(device), ZE_RESULT_SUCCESS);
  EXPECT_EQ(infer(), ZE_RESULT_SUCCESS);
  EXPECT_EQ(data[0], 1);
  // A hang ends by a command too.
  ASSERT_EQ(say("hang"), "ok");
  EXPECT_EQ(zeFenceReset(fence), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence), ZE_RESULT_SUCCESS);
  ASSERT_EQ(say("reset"), "ok");
  EXPECT_NE(zeFenceHostSynchronize(fence, 10 * kSecond), ZE_RESULT_NOT_READY);
  // And by itself, though nothing waited.
  ASSERT_EQ(say("hang"), "ok");
  std::this_thread::sleep_for(milliseconds(250));
  EXPECT_EQ(infer(), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandListDestroy(second), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueDestroy(other), ZE_RESULT_SUCCESS);
}

TEST_F(NpuFaults, HangsAgainThoughNothingNoticedThatAHangIsOver) {
  const auto resets = [] {
    const std::string text = say("status");
    return std::stoi(text.substr(text.find(", ") + 2));
  };
  const int before = resets();
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(say("hang"), "ok");
    std::this_thread::sleep_for(milliseconds(250));
  }
  EXPECT_EQ(resets(), before + 2);
}

TEST_F(NpuFaults, ALostDeviceStaysLostUntilItRecovers) {
  ASSERT_EQ(say("fail execution:1=lost"), "ok");
  EXPECT_EQ(infer(), ZE_RESULT_ERROR_DEVICE_LOST);
  EXPECT_EQ(zeDeviceGetStatus(device), ZE_RESULT_ERROR_DEVICE_LOST);
  EXPECT_EQ(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr), ZE_RESULT_ERROR_DEVICE_LOST);
  ze_context_handle_t another = nullptr;
  const ze_context_desc_t descriptor = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
  EXPECT_EQ(zeContextCreate(driver, &descriptor, &another), ZE_RESULT_ERROR_DEVICE_LOST);
  const auto last_words = call<ze_result_t (*)(ze_driver_handle_t, const char**)>("zeDriverGetLastErrorDescription");
  const char* text = nullptr;
  ASSERT_EQ(last_words(driver, &text), ZE_RESULT_SUCCESS);
  EXPECT_THAT(text, HasSubstr("the device is lost, on purpose"));
  ze_device_properties_t properties = {};
  properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  EXPECT_EQ(zeDeviceGetProperties(device, &properties), ZE_RESULT_SUCCESS) << "it can still be described";
  ASSERT_EQ(say("recover"), "ok");
  EXPECT_EQ(zeFenceReset(fence), ZE_RESULT_SUCCESS);
  EXPECT_EQ(infer(), ZE_RESULT_SUCCESS);
}

TEST_F(NpuFaults, ADeviceRunsOutOfMemory) {
  ASSERT_EQ(say("memory 1000000"), "ok");
  ze_device_memory_properties_t properties = {};
  std::uint32_t count = 1;
  ASSERT_EQ(zeDeviceGetMemoryProperties(device, &count, &properties), ZE_RESULT_SUCCESS);
  EXPECT_EQ(properties.totalSize, 1'000'000u);
  void* const first = allocate_host(600'000);
  allocate_host(600'000, nullptr, ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
  allocate_host(2'000'000, nullptr, ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  EXPECT_EQ(zeMemFree(context, first), ZE_RESULT_SUCCESS);
  void* const second = allocate_host(600'000);
  EXPECT_EQ(zeMemFree(context, second), ZE_RESULT_SUCCESS);
  ASSERT_EQ(say("memory 0"), "ok");
  ASSERT_EQ(zeDeviceGetMemoryProperties(device, &count, &properties), ZE_RESULT_SUCCESS);
  EXPECT_GT(properties.totalSize, 1'000'000u);
}

}  // namespace faults_test
}  // namespace tenon::npu::test
