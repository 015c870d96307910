// SPDX-License-Identifier: Apache-2.0
// Video: decodes a file, stream or camera into frames; on request straight into Tenon's memory.
#pragma once

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <tenon/core/ledger.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/ffmpeg/convert.hpp>
#include <tenon/frameworks/ffmpeg/input.hpp>

namespace tenon {
inline namespace v1 {
namespace ffmpeg {
namespace detail {

/// The decoder: codec context and the pools it writes into. Not movable: the codec context holds its address.
class Decoder {
 public:
  Decoder(const std::string& name, const AVStream& stream, const Options& options)
      : name_(name),
        ledger_(options.ledger ? options.ledger : &Ledger::process()),
        patience_(std::chrono::duration_cast<Clock::duration>(options.read_timeout)) {
    const AVCodec* codec = avcodec_find_decoder(stream.codecpar->codec_id);
    if (!codec) {
      throw Error(Code::kUnimplemented, "video \"" + name_ + "\": this FFmpeg has no decoder for " +
                                            avcodec_get_name(stream.codecpar->codec_id));
    }
    codec_.reset(avcodec_alloc_context3(codec));
    if (!codec_) throw Error(Code::kResourceExhausted, "video: no memory for a decoder");
    if (const int error = avcodec_parameters_to_context(codec_.get(), stream.codecpar); error < 0) {
      throw make_error(error, "video \"" + name_ + "\"", "avcodec_parameters_to_context");
    }
    codec_->pkt_timebase = stream.time_base;
    if (options.hardware) use_hardware(*codec, options);
    codec_->thread_count = options.hardware ? 1 : options.threads;  // The device works, not the threads.
    codec_->thread_type = options.frame_threads ? FF_THREAD_FRAME | FF_THREAD_SLICE : FF_THREAD_SLICE;
#if LIBAVCODEC_VERSION_MAJOR < 60  // Later versions assume thread safety.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    codec_->thread_safe_callbacks = 1;
#pragma GCC diagnostic pop
#endif
    codec_->opaque = this;
    codec_->get_buffer2 = &Decoder::get_buffer;
    Dictionary dictionary;
    for (const auto& [key, value] : options.decoder) dictionary.set(key, value);
    if (const int error = avcodec_open2(codec_.get(), codec, dictionary.get()); error < 0) {
      throw make_error(error, "video \"" + name_ + "\": decoder " + codec->name, "avcodec_open2");
    }
    dictionary.check_all_taken("decoder " + std::string(codec->name));
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  AVCodecContext* codec() const { return codec_.get(); }
  /// Whether the decoder can write into buffers given to it.
  bool direct() const { return (codec_->codec->capabilities & AV_CODEC_CAP_DR1) != 0; }

  void use_pool(const Requirements& wanted, const Context& allocator, std::size_t limit) {
    std::lock_guard lock(mutex_);
    wanted_ = wanted;
    allocator_ = allocator;
    limit_ = limit;
    pool_ = nullptr;
  }
  bool pooled() const {
    std::lock_guard lock(mutex_);
    return static_cast<bool>(allocator_);
  }
  Ref<DecodePool> pool() const {
    std::lock_guard lock(mutex_);
    return pool_;
  }
  /// Whether a device decodes.
  bool is_hardware() const { return hardware_format_ != AV_PIX_FMT_NONE; }
  /// The device's kind ("vaapi"), "ffmpeg" if there is none; for reports.
  const std::string& place() const { return place_; }

  /// "memfd", "cpu", "opencl.svm"; for reports.
  std::string pool_name() const {
    std::lock_guard lock(mutex_);
    if (!allocator_) return "none";
    return std::string(wanted_.fd == FdKind::kNone ? allocator_->kind().name() : wanted_.fd.name());
  }
  /// Gives `frame` (format, width, height set) a pool buffer aligned for this decoder. @errors as DecodePool.
  void fill(AVCodecContext* codec, AVFrame& frame) {
    int width = frame.width, height = frame.height;
    int alignments[AV_NUM_DATA_POINTERS] = {};
    avcodec_align_dimensions2(codec, &width, &height, alignments);
    Ref<DecodePool> pool;
    {
      std::lock_guard lock(mutex_);
      const PoolLayout layout = PoolLayout::make(static_cast<AVPixelFormat>(frame.format), frame.width, frame.height,
                                                 width, height, alignments, wanted_);
      if (!pool_ || !(pool_->layout() == layout)) pool_ = make_ref<DecodePool>(layout, wanted_, allocator_, limit_);
      pool = pool_;
    }
    // Not the deadline of read(): a picture without a buffer is lost, and pictures that refer to it are damaged.
    pool->fill(frame, Clock::now() + patience_, ledger_);
  }

  /// Rethrows in the user's call an exception from a callback in one of FFmpeg's threads.
  void rethrow() {
    std::exception_ptr failure;
    {
      std::lock_guard lock(mutex_);
      failure = std::exchange(failure_, nullptr);
    }
    if (failure) std::rethrow_exception(failure);
  }

 private:
  /// @errors kUnimplemented: FFmpeg has no way from this decoder to such a device.
  void use_hardware(const AVCodec& codec, const Options& options) {
    place_ = options.hardware.kind();
    for (int i = 0; const AVCodecHWConfig* config = avcodec_get_hw_config(&codec, i); ++i) {
      if ((config->methods & AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX) &&
          config->device_type == options.hardware.native()->type)
        hardware_format_ = config->pix_fmt;
    }
    if (hardware_format_ == AV_PIX_FMT_NONE)
      throw Error(Code::kUnimplemented, "video \"" + name_ + "\": FFmpeg does not decode " + codec.name + " by " +
                                            place_ + "; open it without a device");
    codec_->hw_device_ctx = av_buffer_ref(options.hardware.buffer());
    if (!codec_->hw_device_ctx) throw Error(Code::kResourceExhausted, "video: no reference to a device");
    codec_->extra_hw_frames = options.hardware_frames;
    codec_->get_format = &Decoder::choose_format;
  }
  /// FFmpeg asks again, without the device's format, when the device turned out not to decode the stream.
  static AVPixelFormat choose_format(AVCodecContext* codec, const AVPixelFormat* offered) {
    auto* self = static_cast<Decoder*>(codec->opaque);
    for (const AVPixelFormat* each = offered; *each != AV_PIX_FMT_NONE; ++each)
      if (*each == self->hardware_format_) return *each;
    self->note_failure([&] {
      const char* profile = avcodec_profile_name(codec->codec_id, codec->profile);
      throw Error(Code::kUnimplemented, "video \"" + self->name_ + "\": the device (" + self->place_ +
                                            ") does not decode " + avcodec_get_name(codec->codec_id) + " of profile " +
                                            (profile ? profile : "unknown") + "; open it without a device");
    });
    return AV_PIX_FMT_NONE;
  }
  /// Keeps what `failing` throws for rethrow(): no exception may cross FFmpeg's C frames.
  template <typename Failing>
  void note_failure(Failing failing) noexcept {
    try {
      failing();
    } catch (...) {
      std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }

  /// FFmpeg makes the device's surfaces, and no more than it was told.
  int get_surface(AVCodecContext* codec, AVFrame* frame, int flags) {
    const int error = avcodec_default_get_buffer2(codec, frame, flags);
    if (error >= 0) return error;
    note_failure([&] {
      throw Error(Code::kResourceExhausted,
                  "video \"" + name_ +
                      "\": no surface is free: drop frames earlier, or raise Options::hardware_frames (" +
                      std::to_string(codec->extra_hw_frames) + ")",
                  "avcodec_default_get_buffer2", error);
    });
    return error;
  }

  static int get_buffer(AVCodecContext* codec, AVFrame* frame, int flags) {
    auto* self = static_cast<Decoder*>(codec->opaque);
    if (frame->hw_frames_ctx || codec->hw_frames_ctx) return self->get_surface(codec, frame, flags);
    // Formats that Tenon cannot describe are converted afterwards, so FFmpeg allocates their buffers.
    if (codec->codec_type != AVMEDIA_TYPE_VIDEO || !self->pooled() ||
        !(codec->codec->capabilities & AV_CODEC_CAP_DR1) || !find_mapping(static_cast<AVPixelFormat>(frame->format))) {
      return avcodec_default_get_buffer2(codec, frame, flags);
    }
    bool filled = false;
    self->note_failure([&] {
      self->fill(codec, *frame);
      filled = true;
    });
    return filled ? 0 : AVERROR(ENOMEM);
  }

  std::string name_;
  Ledger* ledger_;
  Clock::duration patience_;
  mutable std::mutex mutex_;
  Requirements wanted_;
  Context allocator_;
  std::size_t limit_ = 0;
  Ref<DecodePool> pool_;
  std::exception_ptr failure_;
  AVPixelFormat hardware_format_ = AV_PIX_FMT_NONE;
  std::string place_ = "ffmpeg";
  CodecPtr codec_;  // Last: its threads use the members above.
};

}  // namespace detail

/// A decoded video. Frames come in display order. Each holds its buffer until its last copy goes, and may outlive the
/// Video.
/// @thread one thread at a time; frames may go to others.
class Video {
 public:
  /// @errors see open()
  explicit Video(const std::string& name, Options options = {})
      : impl_(std::make_unique<Impl>(name, std::move(options))) {}

  /// Format, size, colour and rotation of the last frame read; before the first, those in the stream's header. A
  /// rotated video's planes are as stored: FrameInfo::rotation says how to turn them, and the input stage does it.
  /// Matrices that mirror, or rotate by other than quarter turns, are not reported.
  const FrameInfo& info() const { return impl_->info; }
  /// Frames per second from the stream's header or statistics; 0 when unknown.
  double fps() const { return impl_->fps; }
  /// Number of frames if the container states it; exact for most files, for some an estimate from the duration.
  std::optional<std::uint64_t> frame_count() const;
  std::optional<std::chrono::nanoseconds> duration() const;
  /// A camera or network stream, whose end is not known beforehand.
  bool live() const { return impl_->input.live(); }
  /// "h264".
  std::string codec() const { return avcodec_get_name(impl_->decoder.codec()->codec_id); }
  /// Where frames are stored, for reports: "h264 -> pool(memfd)", "rawvideo -> ffmpeg".
  std::string path() const;

  /// Makes the decoder write straight into pooled memory that meets `wanted`: one allocation for decoder and consumers.
  /// Applies from the next buffer; may be called again. For a decoder without direct rendering, each frame is copied
  /// into the pool; the ledger books that as "ffmpeg.decoder-copy" and path() names it.
  /// @param allocator  Makes the memory; null: the host, as a memfd if wanted.fd asks for it. Must be host-addressable.
  /// @param limit      Most buffers; at the limit, read() waits up to options.read_timeout for frames to be dropped, or
  ///                   for devices that still read them. After that the picture is lost.
  /// @errors kFailedPrecondition: requirements that no decoder meets, or a copy under ZeroCopy::kRequire;
  /// kInvalidArgument: a limit of 0.
  void use_pool(const Requirements& wanted = {}, const Context& allocator = {}, std::size_t limit = 1024) {
    impl_->use_pool(wanted, allocator, limit);
  }
  /// The same with what Router::plan() found to serve the decoder and all who read its frames.
  /// @errors as above; kFailedPrecondition: a plan that is not possible, with its explanation.
  void use_pool(const AllocationPlan& plan, std::size_t limit = 1024) { impl_->use_pool(plan, limit); }

  /// The next frame; nothing at the end. A change of size, format or rotation in mid-stream appears in the frame's
  /// info(), and once as metadata "size_changed".
  /// @param deadline  Of cameras and streams; a file has options.read_timeout at least.
  /// @errors kDeadlineExceeded: nothing came in time, call again or give up; kDataLoss, after the last good frame: the
  ///         file is truncated or damaged; kUnavailable: the camera or connection is lost; errors of use_pool()'s
  ///         allocator.
  std::optional<Frame> read(Deadline deadline) { return impl_->read(deadline); }
  std::optional<Frame> read() { return impl_->read(Clock::now() + impl_->options.read_timeout); }

  /// Frames read so far; how often the size or format changed; packets that could not be decoded; frames that were decoded
  /// although data of theirs, or of those that they refer to, was missing (a stream's lost packets), as far as decoders say.
  std::uint64_t frames_read() const { return impl_->frames; }
  std::uint64_t size_changes() const { return impl_->size_changes; }
  std::uint64_t damaged_packets() const { return impl_->damaged; }
  std::uint64_t damaged_frames() const { return impl_->damaged_frames; }
  /// Buffers allocated by the current pool; 0 without a pool.
  std::size_t pool_size() const {
    const auto pool = impl_->decoder.pool();
    return pool ? pool->size() : 0;
  }

  /// Input iterator: incrementing it reads the next frame, with the default deadline.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Frame;
    using difference_type = std::ptrdiff_t;
    using pointer = const Frame*;
    using reference = const Frame&;

    Iterator() = default;
    explicit Iterator(Video* video) : video_(video) { ++*this; }
    reference operator*() const { return *frame_; }
    pointer operator->() const { return &*frame_; }
    Iterator& operator++() {
      frame_.reset();  // Returns the buffer before taking the next.
      frame_ = video_->read();
      if (!frame_) video_ = nullptr;
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.video_ == b.video_; }

   private:
    Video* video_ = nullptr;
    std::optional<Frame> frame_;
  };
  Iterator begin() { return Iterator(this); }
  Iterator end() { return {}; }

 private:
  struct Impl {
    Impl(const std::string& name, Options given);
    std::optional<Frame> read(Deadline deadline);
    std::optional<Frame> deliver();
    void use_pool(const Requirements& wanted, Context allocator, std::size_t limit);
    void use_pool(const AllocationPlan& plan, std::size_t limit);
    void feed(Deadline deadline);
    void convert_if_needed();
    void copy_into_pool();
    void check_end() const;
    Frame take_hardware();
    Ledger& ledger() const { return options.ledger ? *options.ledger : Ledger::process(); }
    std::string what() const { return "video \"" + input.name() + "\""; }

    Options options;
    detail::Input input;
    detail::Decoder decoder;
    detail::Converter converter;
    /// Of the device's surfaces, which the frames context makes: another size has others.
    dmabuf::ImportCache surfaces;
    std::shared_ptr<AVBufferRef> surfaces_of;
    PacketPtr packet = detail::new_packet();
    FramePtr frame = detail::new_frame();
    FrameInfo info;
    Rotation rotation = Rotation::kNone;  ///< From the container.
    double fps = 0;
    std::uint64_t frames = 0, size_changes = 0, damaged = 0, damaged_frames = 0;
    std::exception_ptr source_failure;
    bool draining = false, ended = false;
    bool copied = false, converted = false;
  };
  std::unique_ptr<Impl> impl_;
};

/// Opens a file, a stream (http, rtsp, udp, ...) or a camera (/dev/video0).
/// @errors kNotFound: no such file, no such stream; kInvalidArgument: a folder, an empty file, not a video, an unknown
///         option; kUnimplemented: no decoder; kPermissionDenied; kUnavailable: connection refused, device busy;
///         kDeadlineExceeded: options.open_timeout passed. Messages name the file and the remedy.
/// @thread any. @cost probing: reads the beginning of the stream.
inline Video open(const std::string& name, Options options = {}) { return Video(name, std::move(options)); }

}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon

#include <tenon/core/context.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>
#include <tenon/frameworks/ffmpeg/frame.hpp>  // IWYU pragma: export
#include <tenon/frameworks/ffmpeg/pixel_format.hpp>
#include <tenon/frameworks/ffmpeg/pool.hpp>
#include <tenon/frameworks/ffmpeg/video_impl.hpp>  // IWYU pragma: keep
