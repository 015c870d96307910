// SPDX-License-Identifier: Apache-2.0
// Descriptors and their owners.
#include <fcntl.h>
#include <unistd.h>

#include <tenon/frameworks/cpu/fd.hpp>

#include <gtest/gtest.h>

#include <filesystem>

#include <tenon/tests/support/error_of.hpp>

namespace fd_test {

using namespace tenon;

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}
bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(UniqueFd, ClosesOnceAndMovesEmpty) {
  const std::size_t before = open_descriptors();
  {
    cpu::UniqueFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const int number = fd.get();
    cpu::UniqueFd other = std::move(fd);
    EXPECT_FALSE(fd);
    EXPECT_EQ(other.get(), number);
    cpu::UniqueFd& same = other;
    other = std::move(same);
    EXPECT_TRUE(is_open(number)) << "moving onto itself closed it";
    const int freed = other.release();
    EXPECT_FALSE(other);
    ::close(freed);
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(UniqueFd, DuplicatesAreIndependentAndCloseOnExec) {
  cpu::UniqueFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  cpu::UniqueFd copy = fd.duplicate();
  const int number = copy.get();
  fd.reset();
  EXPECT_TRUE(is_open(number));
  EXPECT_NE(::fcntl(number, F_GETFD) & FD_CLOEXEC, 0);
}

TEST(UniqueFd, DuplicatingAClosedOneNamesIt) {
  const Error error = error_of([] { cpu::UniqueFd::duplicate(-1); });
  EXPECT_EQ(error.code(), Code::kInvalidArgument);
  EXPECT_EQ(error.native_code(), EBADF);
}

TEST(SharedFd, ClosesWhenTheLastOwnerGoes) {
  cpu::SharedFd a(cpu::UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
  const int number = a.get();
  cpu::SharedFd b = a;
  a = {};
  EXPECT_TRUE(is_open(number));
  b = {};
  EXPECT_FALSE(is_open(number));
  EXPECT_EQ(cpu::SharedFd().get(), -1);
  EXPECT_FALSE(cpu::SharedFd(cpu::UniqueFd()));
}

}  // namespace fd_test
