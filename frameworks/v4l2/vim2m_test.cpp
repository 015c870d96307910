// SPDX-License-Identifier: Apache-2.0
// A converter that the kernel plays: what it reads and writes in place.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/ledger.hpp>
#include <tenon/frameworks/cpu/shared_memory.hpp>
#include <tenon/frameworks/dmabuf/dmabuf.hpp>
#include <tenon/frameworks/v4l2/testing/vivid_fixture.hpp>

namespace vim2m_test {

using namespace tenon;
using namespace tenon::v4l2::test;
using namespace std::chrono_literals;

/// The kernel's converter from memory to memory (its module vim2m). Debian does not build it: TENON_VM_M2M=1 ./dev test-vm does.
class Vim2m : public Vivid {
 protected:
  void SetUp() override {
    Vivid::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    for (const std::string& each : v4l2::device_paths())
      if (v4l2::Device(each).driver() == "vim2m") path = each;
    if (!path.empty()) return;
    ASSERT_EQ(std::getenv("TENON_EXPECT_M2M"), nullptr) << "no device of the driver vim2m";
    GTEST_SKIP() << "no device of the driver vim2m";
  }
  /// A picture that no two pixels of a row in it are alike in.
  static Frame picture(const FrameInfo& info, FdKind fd) {
    Requirements wanted;
    wanted.alignment = 4096;
    wanted.fd = fd;
    wanted.size_bytes = Frame::size_bytes_for(info, wanted);
    Frame frame = Frame::over(
        info, fd == FdKind::kDmabuf ? dmabuf::context()->allocate(wanted) : cpu::allocate_memory(wanted), wanted);
    std::vector<std::byte> bytes(frame.plane(0).size_bytes());
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i / 3 * 7 % 251 + i % 3);
    frame.plane(0).context()->write(frame.plane(0), bytes);
    return frame;
  }

  std::string path;
};

TEST_F(Vim2m, ConvertsWhatItReadsAndWritesInPlace) {
  const FrameInfo info{kRgb24, kWidth, kHeight};
  v4l2::WantedFormat bgr;
  bgr.format = kBgr24;
  bgr.width_px = kWidth;
  bgr.height_px = kHeight;
  Ledger ledger;
  v4l2::Converter converter(path, info, bgr, 3, &ledger);
  Requirements memfd, dmabuf;
  memfd.fd = FdKind::kMemfd;
  dmabuf.fd = FdKind::kDmabuf;
  for (const v4l2::Transfer written : {v4l2::Transfer::kMmap, v4l2::Transfer::kUserptr, v4l2::Transfer::kDmabuf}) {
    if (written == v4l2::Transfer::kUserptr) converter.use_pool(memfd);
    if (written == v4l2::Transfer::kDmabuf) converter.use_pool(dmabuf, dmabuf::context());
    for (const FdKind fd : {FdKind::kMemfd, FdKind::kDmabuf}) {
      const Frame source = picture(info, fd);
      const Frame made = converter.convert(source, Clock::now() + 30s);
      EXPECT_EQ(converter.read_by(), fd == FdKind::kDmabuf ? v4l2::Transfer::kDmabuf : v4l2::Transfer::kUserptr);
      EXPECT_EQ(converter.written_by(), written);
      std::vector<std::byte> wanted = bytes_of(source);
      for (std::size_t i = 0; i + 2 < wanted.size(); i += 3) std::swap(wanted[i], wanted[i + 2]);
      EXPECT_EQ(bytes_of(made), wanted);
    }
  }
  EXPECT_EQ(ledger.total().copied, 0u);
}

TEST_F(Vim2m, ReadsACamerasBuffer) {
  v4l2::Camera camera(single(), small(kRgb24));
  v4l2::WantedFormat half;
  half.format = kRgb24;
  half.width_px = kWidth / 2;
  half.height_px = kHeight / 2;
  Ledger ledger;
  v4l2::Converter converter(path, camera.info(), half, 3, &ledger);
  for (int i = 0; i < 5; ++i) {
    const Frame source = camera.read();
    const Frame made = converter.convert(source, Clock::now() + 30s);
    EXPECT_EQ(converter.read_by(), v4l2::Transfer::kDmabuf);
    EXPECT_EQ(made.info().width_px, kWidth / 2);
    EXPECT_EQ(made.timestamp_ns(), source.timestamp_ns());
  }
  EXPECT_EQ(ledger.total().copied, 0u);
}

}  // namespace vim2m_test
