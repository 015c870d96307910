// SPDX-License-Identifier: Apache-2.0
// For tests: frames to send, messages that are expected, and an end that sends whatever it is told.
#pragma once

#include <gtest/gtest.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/frameworks/ipc/ipc.hpp>

namespace tenon::ipc::ends {

using namespace std::chrono_literals;

inline constexpr FrameInfo kInfo{kNv12, 64, 48, ColourSpace::kBt709, ColourRange::kLimited, Rotation::k90};

inline std::size_t open_descriptors() {
  std::size_t count = 0;
  DIR* const folder = ::opendir("/proc/self/fd");
  while (::readdir(folder)) ++count;
  ::closedir(folder);
  return count;
}

inline Frame frame_of(const FrameInfo& info = kInfo) {
  Requirements wanted;
  wanted.pitch_alignment = 64;
  return Frame::over(info, IpcMemory::allocate(context(), Frame::size_bytes_for(info, wanted)), wanted);
}

template <typename T>
T next(Link& link) {
  auto message = link.receive(Clock::now() + 5s);
  if (!message || !std::holds_alternative<T>(*message)) throw std::runtime_error("another message than expected");
  return std::get<T>(std::move(*message));
}
inline Frame next_frame(Link& link) { return std::get<Frame>(next<Arrived>(link).what); }

/// An end that sends whatever it is told.
struct Liar {
  UniqueFd socket;
  Link link;
  Liar() : Liar(detail::socket_pair()) {}
  explicit Liar(std::pair<UniqueFd, UniqueFd> ends, LinkLimits limits = {})
      : socket(std::move(ends.first)), link(std::move(ends.second), limits) {}

  template <typename Message>
  void say(const Message& message, std::vector<int> descriptors = {}) {
    ASSERT_EQ(detail::put(socket.get(), std::as_bytes(std::span(&message, 1)), descriptors), detail::Put::kSent);
  }
  /// @return the code of the error, kOk without one.
  Code answer(std::string* text = nullptr) {
    try {
      (void)link.receive(Clock::now() + 5s);
    } catch (const Error& error) {
      if (text) *text = error.what();
      return error.code();
    }
    return Code::kOk;
  }
};

inline UniqueFd memfd(std::size_t size, int seals) {
  UniqueFd made(::memfd_create("tenon-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::ftruncate(made.get(), static_cast<off_t>(size)), 0);
  if (seals) {
    EXPECT_EQ(::fcntl(made.get(), F_ADD_SEALS, seals), 0);
  }
  return made;
}

inline wire::Frame true_frame() {
  wire::Frame message;
  message.header.kind = static_cast<std::uint16_t>(wire::Kind::kFrame);
  message.header.sequence = 1;
  message.brought.new_memories = 1;
  message.brought.memories[0] = {3, 0, 8192, 0};
  message.fourcc = kNv12.fourcc;
  message.width_px = 64;
  message.height_px = 48;
  message.plane_count = 2;
  message.planes[0] = {3, 0, 0, 64};
  message.planes[1] = {3, 0, 64 * 48, 64};
  return message;
}

}  // namespace tenon::ipc::ends
