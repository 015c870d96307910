// SPDX-License-Identifier: Apache-2.0
// The path of a publisher's socket: it belongs to one process, is locked, and is all that publishers make and remove.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/frameworks/ipc/ipc.hpp>

#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon::ipc {
namespace publisher_path_test {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class IpcPublisherPath : public ::testing::Test {
 protected:
  static Deadline soon() { return Clock::now() + 30s; }
  Code code_of_publisher(const std::string& path) {
    try {
      Publisher publisher(path);
    } catch (const Error& error) {
      return error.code();
    }
    return Code::kOk;
  }

  const TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path(), path_ = folder_ + "/frames";
};

TEST_F(IpcPublisherPath, OwnsItsSocketAndNothingElse) {
  {
    Publisher publisher(path_);
    struct stat status {};
    ASSERT_EQ(::stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u) << "others may connect";
    EXPECT_EQ(code_of_publisher(path_), Code::kAlreadyExists);
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
  std::ofstream(path_) << "a file";
  EXPECT_EQ(code_of_publisher(path_), Code::kInvalidArgument);
  EXPECT_TRUE(std::filesystem::exists(path_)) << "a file was removed";
  const UniqueFd stream(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string streams = folder_ + "/streams";
  streams.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(stream.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(stream.get(), 1), 0);
  EXPECT_EQ(code_of_publisher(streams), Code::kAlreadyExists);
  EXPECT_TRUE(std::filesystem::exists(streams)) << "the socket of another service was removed";
  EXPECT_EQ(code_of_publisher(folder_ + "/none/frames"), Code::kNotFound);
  EXPECT_EQ(code_of_publisher(folder_ + "/" + std::string(200, 'x')), Code::kInvalidArgument);
  EXPECT_EQ(code_of_publisher(""), Code::kInvalidArgument);
  PublisherOptions none;
  none.max_held = 0;
  EXPECT_THROW(Publisher(folder_ + "/x", none), Error);
  PublisherOptions endless;
  endless.max_subscribers = SIZE_MAX;
  EXPECT_ANY_THROW(Publisher(folder_ + "/y", endless)) << "there is no room for so many";
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/y")) << "the socket stays";
}

TEST_F(IpcPublisherPath, OneOfSeveralThatBeginTogetherGetsThePath) {
  constexpr int kRounds = 300, kPublishers = 4;
  std::barrier together(kPublishers);
  for (int round = 0; round < kRounds; ++round) {
    // As a killed process leaves it: nothing listens there any more.
    const UniqueFd left(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(left.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    std::vector<std::optional<Publisher>> made(kPublishers);
    std::vector<Code> codes(kPublishers, Code::kOk);
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kPublishers; ++i) {
      threads.emplace_back([&, i] {
        together.arrive_and_wait();
        try {
          made[i].emplace(path_);
        } catch (const Error& error) {
          codes[i] = error.code();
        }
      });
    }
    threads.clear();
    ASSERT_EQ(std::count(codes.begin(), codes.end(), Code::kOk), 1) << "round " << round;
    ASSERT_EQ(std::count(codes.begin(), codes.end(), Code::kAlreadyExists), kPublishers - 1) << "round " << round;
    Subscriber one(path_, soon());
    one.begin();
    for (std::optional<Publisher>& each : made) {
      if (each) {
        ASSERT_TRUE(each->wait_for_subscribers(1, soon())) << "the path leads to another one";
      }
    }
    made.clear();
    ASSERT_TRUE(std::filesystem::is_empty(folder_)) << "round " << round;
  }
}

TEST_F(IpcPublisherPath, LocksItsPath) {
  const std::string lock = path_ + ".lock";
  ASSERT_EQ(::mkfifo(lock.c_str(), 0600), 0);
  EXPECT_EQ(code_of_publisher(path_), Code::kInvalidArgument);
  EXPECT_TRUE(std::filesystem::exists(lock)) << "a file of others was removed";
  std::filesystem::remove(lock);
  std::filesystem::create_symlink(folder_ + "/elsewhere", lock);
  EXPECT_NE(code_of_publisher(path_), Code::kOk) << "a link was followed";
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/elsewhere"));
  std::filesystem::remove(lock);
  std::ofstream(lock).close();  // A killed process leaves its lock behind, unlocked.
  {
    const Publisher publisher(path_);
    EXPECT_EQ(code_of_publisher(path_), Code::kAlreadyExists);
    EXPECT_TRUE(std::filesystem::exists(lock));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(IpcPublisherPath, IsWaitedForWhileManyConnect) {
  const detail::Listener listener(path_);
  std::vector<UniqueFd> waiting;
  Code code = Code::kOk;
  while (code == Code::kOk && waiting.size() < 1000) {
    try {
      waiting.push_back(detail::connect_to(path_));
    } catch (const Error& error) {
      code = error.code();
    }
  }
  EXPECT_EQ(code, Code::kUnavailable) << "subscribers try again after this code only";
}

TEST_F(IpcPublisherPath, SaysWhereNoneIs) {
  try {
    (void)Subscriber(path_, Clock::now() + 20ms);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kNotFound);
    EXPECT_THAT(error.what(), HasSubstr(path_));
    EXPECT_EQ(error.native_api(), "connect");
  }
}

}  // namespace publisher_path_test
}  // namespace tenon::ipc
