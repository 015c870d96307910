// SPDX-License-Identifier: Apache-2.0
// Cameras and capture cards: the driver writes where the model reads.
#include <algorithm>

#include <fmt/core.h>
#include <sys/stat.h>

#include <tenon/core/error.hpp>
#include <tenon/frameworks/v4l2/v4l2.hpp>

#include <tenon/tools/tenon/proof/second_view.hpp>
#include <tenon/tools/tenon/sources/open_source.hpp>

namespace tenon::tool {
namespace {

class CameraSource final : public FrameSource {
 public:
  CameraSource(const std::string& path, const v4l2::Options& options) : camera_(path, options) {}

  const FrameInfo& info() const override { return camera_.info(); }
  double fps() const override { return camera_.fps(); }
  bool live() const override { return true; }
  std::string arrives_as() const override { return ends_of(camera_.path()).first; }
  std::string lies_in() const override { return ends_of(camera_.path()).second; }
  std::size_t buffers() const override { return camera_.buffers(); }
  std::uint64_t size_changes() const override { return camera_.size_changes(); }
  std::uint64_t lost_frames() const override { return camera_.lost_frames(); }
  Context writer() const override { return v4l2::context(camera_.device().path()); }

  void use_pool(const AllocationPlan& plan, std::size_t in_flight) override {
    if (in_flight + kWithDriver > VIDEO_MAX_FRAME)
      throw Error(
          Code::kInvalidArgument,
          fmt::format("{}: {} frames in flight, and a camera has at most {} buffers; give --requests at most {}",
                      camera_.device().what(), in_flight, VIDEO_MAX_FRAME, VIDEO_MAX_FRAME - kWithDriver));
    const auto buffers = static_cast<std::uint32_t>(in_flight + kWithDriver);
    try {
      camera_.use_pool(plan, buffers);
    } catch (const Error& error) {
      if (error.code() != Code::kFailedPrecondition && error.code() != Code::kUnimplemented) throw;
      // The driver takes no memory but its own. Others read that in place, where it exports its buffers.
      camera_.use_pool({}, writer(), buffers);
    }
  }
  std::optional<Frame> read(Deadline deadline) override { return camera_.read(deadline); }

  /// A pattern in a buffer that the driver gets back must be gone when the driver gives it out again, seen through another
  /// mapping than the one that wrote it.
  HopProof prove_writes_in_place(const Frame&) override {
    return guarded([&]() -> HopProof {
      constexpr unsigned kSeed = 7;
      const Memory* marked = nullptr;
      {
        const Frame frame = camera_.read();
        marked = frame.plane(0).memory().get();
        write_pattern(frame.info(), SecondView(frame).rows(), kSeed);
      }
      for (std::size_t i = 0; i < 8 * camera_.buffers(); ++i) {
        const Frame frame = camera_.read();
        if (frame.plane(0).memory().get() != marked) continue;
        const SecondView view(frame);
        const std::size_t rows = row_count(frame.info());
        const std::size_t written = rows_written_over(frame.info(), view.rows(), kSeed);
        if (written != rows)
          return {Proof::kCopies,
                  fmt::format("{} of {} rows still hold what was there before the driver filled the buffer",
                              rows - written, rows)};
        return {
            Proof::kProved,
            fmt::format("a pattern written into a buffer before the driver got it back was written over by the driver: "
                        "all {} rows, seen through {}",
                        rows, view.is_second() ? "a second mapping of its descriptor" : "the driver's mapping")};
      }
      return {Proof::kClaimed, "the driver did not use the buffer again"};
    });
  }

 private:
  static constexpr std::size_t kWithDriver = 4;  ///< Buffers that the driver has while all others are in use.

  v4l2::Camera camera_;
};

/// Whether `path` is a camera whose pictures Tenon can describe. Others are FFmpeg's: it decodes what they compress.
bool gives_pictures(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISCHR(status.st_mode)) return false;
  try {
    const v4l2::Device device(path);
    const auto formats = device.formats(device.capture_type());
    return device.captures() &&
           std::any_of(formats.begin(), formats.end(), [](const auto& each) { return each.mapping; });
  } catch (const Error& error) {
    if (error.code() == Code::kInvalidArgument) return false;  // A device of another kind.
    throw;
  }
}

}  // namespace

std::unique_ptr<FrameSource> open_v4l2_source(const SourceOptions& options) {
  if (!gives_pictures(options.input)) return nullptr;
  v4l2::Options wanted;
  wanted.ledger = options.ledger;
  wanted.format.format = options.format;
  wanted.format.width_px = options.width_px;
  wanted.format.height_px = options.height_px;
  wanted.format.fps = options.fps;
  return std::make_unique<CameraSource>(options.input, wanted);
}

}  // namespace tenon::tool
