// SPDX-License-Identifier: Apache-2.0
// Collects the buffers of a picture and rebuilds the stream, which another thread decodes.
#include <tenon/drivers/vaapi/codec/decode_task.hpp>

#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <tenon/drivers/vaapi/codec/decode_queue.hpp>
#include <tenon/drivers/vaapi/codec/decoder.hpp>
#include <tenon/drivers/vaapi/codec/picture.hpp>

namespace tenon::va {
namespace {

constexpr int kMaxSlices = 4096;

constexpr std::uint32_t k420 = VA_RT_FORMAT_YUV420, k420_10 = VA_RT_FORMAT_YUV420 | VA_RT_FORMAT_YUV420_10;
constexpr std::uint32_t kJpeg =
    VA_RT_FORMAT_YUV420 | VA_RT_FORMAT_YUV422 | VA_RT_FORMAT_YUV444 | VA_RT_FORMAT_YUV400 | VA_RT_FORMAT_RGB32;

constexpr std::uint32_t k422_10 = k420_10 | VA_RT_FORMAT_YUV422 | VA_RT_FORMAT_YUV422_10;
constexpr std::uint32_t k444 = k420 | VA_RT_FORMAT_YUV422 | VA_RT_FORMAT_YUV444;

/// Those of 12 bits, and those of 10 bits in 4:4:4, are not here: libavutil 57 has no name for their surfaces' formats.
constexpr DecodeProfile kProfiles[] = {
    {VAProfileH264ConstrainedBaseline, "h264", k420, 8192},
    {VAProfileH264Main, "h264", k420, 8192},
    {VAProfileH264High, "h264", k420, 8192},
#if VA_CHECK_VERSION(1, 18, 0)
    {VAProfileH264High10, "h264", k420_10, 8192},
#endif
    {VAProfileHEVCMain, "hevc", k420, 8192},
    {VAProfileHEVCMain10, "hevc", k420_10, 8192},
    {VAProfileHEVCMain422_10, "hevc", k422_10, 8192},
    {VAProfileHEVCMain444, "hevc", k444, 8192},
    {VAProfileVP9Profile0, "vp9", k420, 8192},
    {VAProfileVP9Profile1, "vp9", k444, 8192},
    {VAProfileVP9Profile2, "vp9", k420_10, 8192},
    {VAProfileAV1Profile0, "libdav1d", k420_10, 8192},
    {VAProfileAV1Profile1, "libdav1d", k444, 8192},
    {VAProfileJPEGBaseline, "mjpeg", kJpeg, 16384},
};

std::unique_ptr<StreamWriter> make_writer(VAProfile profile) {
  switch (profile) {
    case VAProfileH264ConstrainedBaseline:
    case VAProfileH264Main:
    case VAProfileH264High:
#if VA_CHECK_VERSION(1, 18, 0)
    case VAProfileH264High10:
#endif
      return make_h264_writer();
    case VAProfileHEVCMain:
    case VAProfileHEVCMain10:
    case VAProfileHEVCMain422_10:
    case VAProfileHEVCMain444:
      return make_hevc_writer();
    case VAProfileVP9Profile0:
    case VAProfileVP9Profile1:
    case VAProfileVP9Profile2:
      return make_vp9_writer();
    case VAProfileAV1Profile0:
    case VAProfileAV1Profile1:
      return make_av1_writer();
    case VAProfileJPEGBaseline:
      return make_jpeg_writer();
    default:
      return nullptr;
  }
}

/// Rebuilds the stream and passes pictures to the queue in order.
class PictureOrder final : public Worker {
 public:
  explicit PictureOrder(const DecodeProfile& profile)
      : profile(profile.profile), queue_(profile.decoder), writer_(make_writer(profile.profile)) {}
  ~PictureOrder() override { release(nullptr); }
  const VAProfile profile;
  const StreamWriter& writer() const { return *writer_; }

  /// @param self  Reference to this object, stored in the surface for waits.
  VAStatus submit(const Picture& picture, Surface& target, const std::weak_ptr<Worker>& self) {
    Ref<Surface> shown;
    if (const VAStatus status = begin(picture, target, self, shown)) return status;
    wait_if_seen_elsewhere(target);
    if (shown) wait_if_seen_elsewhere(*shown);
    return VA_STATUS_SUCCESS;
  }

  void hurry(const Surface& wanted) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      release(nullptr);
    }
    queue_.hurry(wanted);
  }
  void hurry_all() noexcept { queue_.hurry(); }

 private:
  /// @param shown  Set to the other surface that the picture is written to, if there is one.
  VAStatus begin(const Picture& picture, Surface& target, const std::weak_ptr<Worker>& self, Ref<Surface>& shown) {
    const std::lock_guard lock(mutex_);
    release(&picture);
    if (writer_->pixels(picture) > max_pixels(target)) return VA_STATUS_ERROR_DECODING_ERROR;
    if (queue_.has_lost()) writer_->repeat_sequence();
    DecodeQueue::Job job{queue_.spare(), Ref<Surface>(target), {}};
    if (const VAStatus status = write(picture, job.stream)) return status;
    job.may_run_ahead = writer_->may_run_ahead();
    job.is_waited_for = target.is_seen_elsewhere();
    job.shown = acquire<Surface>(*target.display(), writer_->shown_surface());
    if (job.shown.get() == &target) job.shown = {};
    target.begin_work(self);
    if (job.shown) job.shown->begin_work(self);
    shown = job.shown;
    if (!writer_->holds()) return queue_.push(std::move(job));
    held_ = std::move(job);
    return VA_STATUS_SUCCESS;
  }

  VAStatus write(const Picture& picture, Bytes& stream) try {
    const VAStatus status = writer_->write(picture, stream);
    if (status != VA_STATUS_SUCCESS) writer_->repeat_sequence();
    return status;
  } catch (...) {
    writer_->repeat_sequence();
    throw;
  }

  /// Holders of the descriptor read it as soon as vaEndPicture has returned (GStreamer's decoders do) and rely on
  /// fences, which CPU work on a dma-buf does not have. So vaEndPicture waits.
  void wait_if_seen_elsewhere(const Surface& surface) {
    if (surface.is_seen_elsewhere()) surface.wait(default_deadline());
  }

  void release(const Picture* next) noexcept {
    if (!held_) return;
    DecodeQueue::Job job = *std::exchange(held_, {});
    try {
      writer_->release(next, job.stream);
    } catch (const std::exception&) {
      writer_->repeat_sequence();
      end_work(job, VA_STATUS_ERROR_DECODING_ERROR);
      return;
    }
    queue_.push(std::move(job));
  }

  DecodeQueue queue_;
  std::mutex mutex_;
  const std::unique_ptr<StreamWriter> writer_;
  std::optional<DecodeQueue::Job> held_;
};

class DecodeTask final : public Task {
 public:
  explicit DecodeTask(const DecodeProfile& profile) : order_(std::make_shared<PictureOrder>(profile)) {}
  ~DecodeTask() override {
    if (!display_ || !is_gone_on_with_) return;
    order_->hurry_all();
    display_->keep(std::move(order_));
  }

  bool takes(VABufferType type) const override {
    return type == VAPictureParameterBufferType || type == VAIQMatrixBufferType || type == VASliceParameterBufferType ||
           type == VASliceDataBufferType || type == VAHuffmanTableBufferType || type == VAImageBufferType ||
           type == VAQMatrixBufferType;
  }

  void begin() override {
    picture_ = {};
    data_.clear();
    groups_.clear();
  }

  VAStatus render(Ref<Buffer> buffer) override {
    const auto bytes = buffer->used();
    switch (buffer->type) {
      case VAPictureParameterBufferType:
        if (bytes.size() < order_->writer().picture_bytes()) return VA_STATUS_ERROR_INVALID_BUFFER;
        picture_.parameters.assign(bytes.begin(), bytes.end());
        return VA_STATUS_SUCCESS;
      case VAIQMatrixBufferType:
        picture_.iq_matrix.assign(bytes.begin(), bytes.end());
        return VA_STATUS_SUCCESS;
      case VAHuffmanTableBufferType:
        picture_.huffman.assign(bytes.begin(), bytes.end());
        return VA_STATUS_SUCCESS;
      case VASliceParameterBufferType:
        return add_slices(bytes, buffer->element_bytes);
      case VASliceDataBufferType:
        data_.push_back(std::move(buffer));
        return VA_STATUS_SUCCESS;
      default:
        return VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE;
    }
  }

  VAStatus end(Surface& target) override {
    // Another decoder may still write this surface. Pictures of this decoder are in order anyway, as the fields of a
    // frame must be.
    if (!target.is_worked_on_by(*order_) && !target.wait(default_deadline())) return VA_STATUS_ERROR_SURFACE_BUSY;
    target.error = VA_STATUS_SUCCESS;
    const VAStatus status = decode(target);
    if (status == VA_STATUS_ERROR_DECODING_ERROR) target.error = status;
    begin();
    // vaSyncSurface reports a picture that cannot be decoded; the call itself was valid.
    return status == VA_STATUS_ERROR_DECODING_ERROR ? VA_STATUS_SUCCESS : status;
  }

 private:
  VAStatus add_slices(std::span<const std::uint8_t> bytes, std::size_t element_bytes) {
    if (element_bytes < order_->writer().slice_bytes()) return VA_STATUS_ERROR_INVALID_BUFFER;
    const std::size_t count = bytes.size() / element_bytes;
    if (picture_.slices.size() + count > kMaxSlices) return VA_STATUS_ERROR_MAX_NUM_EXCEEDED;
    for (std::size_t i = 0; i < count; ++i) {
      const auto one = bytes.subspan(i * element_bytes, element_bytes);
      picture_.slices.push_back({Bytes(one.begin(), one.end()), {}});
    }
    groups_.push_back(count);
    return VA_STATUS_SUCCESS;
  }

  /// One buffer of data for each buffer of parameters, in their order, or one for all.
  VAStatus join_slices() {
    if (data_.empty() || (data_.size() != groups_.size() && data_.size() != 1))
      return VA_STATUS_ERROR_INVALID_PARAMETER;
    std::size_t slice = 0;
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      Buffer& data = *data_[data_.size() == 1 ? 0 : group];
      for (std::size_t i = 0; i < groups_[group]; ++i) picture_.slices[slice++].data = data.used();
    }
    return VA_STATUS_SUCCESS;
  }

  VAStatus decode(Surface& target) {
    if (picture_.parameters.empty() || picture_.slices.empty()) return VA_STATUS_ERROR_INVALID_PARAMETER;
    if (const VAStatus status = join_slices()) return status;
    go_on(target);
    return order_->submit(picture_, target, order_);
  }

  /// Called with the first picture: continues with the decoder that has its references, if another context owns or kept
  /// it.
  void go_on(const Surface& target) {
    const auto references = order_->writer().references(picture_);
    is_gone_on_with_ |= !references.empty();
    if (std::exchange(display_, target.display())) return;
    for (const VASurfaceID id : references) {
      const Ref<Surface> surface = acquire<Surface>(*display_, id);
      const auto other = std::dynamic_pointer_cast<PictureOrder>(surface ? surface->worker() : nullptr);
      if (other && other->profile == order_->profile) order_ = other;
    }
    display_->keep(nullptr);
  }

  std::shared_ptr<PictureOrder> order_;
  const Display* display_ = nullptr;  ///< Display of the first picture's surface.
  bool is_gone_on_with_ = false;      ///< Whether its pictures may be another context's references.
  Picture picture_;
  std::vector<Ref<Buffer>> data_;
  std::vector<std::size_t> groups_;  ///< Number of slices in each buffer of slice parameters.
};

}  // namespace

std::span<const DecodeProfile> decode_profiles() {
  static const auto& here = *new std::vector<DecodeProfile>([] {
    std::vector<DecodeProfile> found;
    for (const DecodeProfile& profile : kProfiles)
      if (Decoder::exists(profile.decoder)) found.push_back(profile);
    return found;
  }());
  return here;
}

const DecodeProfile* find_decode_profile(VAProfile profile) {
  const auto all = decode_profiles();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.profile == profile; });
  return found == all.end() ? nullptr : &*found;
}

std::unique_ptr<Task> make_decode_task(const DecodeProfile& profile) { return std::make_unique<DecodeTask>(profile); }

}  // namespace tenon::va
