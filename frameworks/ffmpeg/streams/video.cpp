// SPDX-License-Identifier: Apache-2.0
// The decoder behind a Video.
#include <tenon/frameworks/ffmpeg/video.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <span>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/stream_time.hpp>
#include <tenon/frameworks/dmabuf/import_cache.hpp>
#include <tenon/frameworks/ffmpeg/av.hpp>
#include <tenon/frameworks/ffmpeg/convert.hpp>
#include <tenon/frameworks/ffmpeg/hardware.hpp>
#include <tenon/frameworks/ffmpeg/misread.hpp>
#include <tenon/frameworks/ffmpeg/packets.hpp>
#include <tenon/frameworks/ffmpeg/pixel_format.hpp>
#include <tenon/frameworks/ffmpeg/pool.hpp>
#include <tenon/frameworks/ffmpeg/rotation.hpp>

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
    // Formats that Tenon does not read are converted afterwards, so FFmpeg allocates their buffers.
    if (codec->codec_type != AVMEDIA_TYPE_VIDEO || !self->pooled() ||
        !(codec->codec->capabilities & AV_CODEC_CAP_DR1) || !find_common(static_cast<AVPixelFormat>(frame->format))) {
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

struct Video::Impl {
  Impl(const std::string& name, Options given)
      : options(std::move(given)), input(name, options), decoder(name, *input.stream(), options) {
    const AVCodecParameters& parameters = *input.stream()->codecpar;
    auto format = static_cast<AVPixelFormat>(parameters.format);
    const FormatMapping* mapping = detail::find_common(format);
    if (!mapping && format != AV_PIX_FMT_NONE) {
      const AVPixelFormat target = detail::nearest_mapped(format);
      if (options.policy == ZeroCopy::kRequire) {
        throw Error(Code::kFailedPrecondition, what() + ": its pictures are " + ffmpeg::to_string(format) +
                                                   ", which would be converted to " + ffmpeg::to_string(target) +
                                                   ", and zero copy is required");
      }
      converted = true;
      mapping = find_mapping(target);
    }
    if (!mapping) mapping = find_mapping(AV_PIX_FMT_YUV420P);  // Not known before the first frame.
    // Devices write chroma interleaved.
    if (decoder.is_hardware() && mapping->format == kI420) mapping = find_mapping(kNv12);
    if (decoder.is_hardware() && mapping->format == kI420p10) mapping = find_mapping(kP010);
    info = detail::make_info(*mapping, parameters.width, parameters.height, parameters.color_space,
                             parameters.color_range);
    info.rotation = rotation = rotation_of(*input.stream());
    const AVRational rate = av_guess_frame_rate(input.format(), input.stream(), nullptr);
    if (rate.num > 0 && rate.den > 0) fps = av_q2d(rate);
    if (options.packets) options.packets->begin(*input.stream());
  }

  void use_pool(const Requirements& wanted, Context allocator, std::size_t limit) {
    if (!allocator) allocator = host_context();
    if (limit == 0) throw Error(Code::kInvalidArgument, what() + ": a pool of 0 buffers cannot hold a picture");
    const auto refuse = [&](const std::string& why) {
      return Error(Code::kFailedPrecondition, what() + ": use_pool(): " + why);
    };
    if (decoder.is_hardware())
      throw refuse("a device decodes into surfaces of its own; map its frames, or open the video without a device");
    if (wanted.contiguous)
      throw refuse(
          "a consumer wants rows and planes without padding, and decoders need padded rows; let it take a pitch");
    if (!wanted.kinds.empty() &&
        std::find(wanted.kinds.begin(), wanted.kinds.end(), allocator->kind()) == wanted.kinds.end()) {
      throw refuse("the consumer does not take memory of kind " + std::string(allocator->kind().name()) +
                   "; pass the allocator whose memory it takes");
    }
    if (!wanted.modifiers.empty() &&
        std::find(wanted.modifiers.begin(), wanted.modifiers.end(), kModifierLinear) == wanted.modifiers.end()) {
      throw refuse("the consumer takes tiled pictures only, and software decoders write linear ones");
    }
    if (!FdKind::kMemfd.serves(wanted.fd) && allocator == host_context()) {
      throw refuse("host memory has no descriptor of kind " + std::string(wanted.fd.name()) +
                   "; pass an allocator that makes them");
    }
    if (options.policy == ZeroCopy::kRequire && !decoder.direct()) {
      throw refuse("decoder " + std::string(decoder.codec()->codec->name) +
                   " writes into memory of its own only, and zero copy is required; read it without a pool");
    }
    decoder.use_pool(wanted, allocator, limit);
  }

  void use_pool(const AllocationPlan& plan, std::size_t limit) {
    if (!plan.possible)
      throw Error(Code::kFailedPrecondition, what() + ": use_pool(): the plan is not possible: " + plan.explanation);
    use_pool(plan.requirements, plan.allocator, limit);
  }

  /// Sends one packet to the decoder, or the end of the stream.
  void feed(Deadline deadline) {
    AVCodecContext* codec = decoder.codec();
    bool more = false;
    try {
      more = input.read(packet.get(), deadline);
    } catch (const Error& error) {
      if (error.code() == Code::kDeadlineExceeded) throw;
      source_failure = std::current_exception();  // The decoder may still hold good pictures; they come first.
    }
    if (!more) {
      draining = true;
      avcodec_send_packet(codec, nullptr);
      return;
    }
    if (options.sender_time) note_sender_time();
    if (options.packets) options.packets->add(*packet);
    const auto bytes = std::as_bytes(std::span(packet->data, static_cast<std::size_t>(packet->size)));
    if (const char* const misread = detail::why_misread(codec->codec_id, bytes)) {
      av_packet_unref(packet.get());
      throw Error(Code::kUnimplemented, what() + " is " + misread);
    }
    const int error = avcodec_send_packet(codec, packet.get());
    av_packet_unref(packet.get());
    decoder.rethrow();
    if (error == AVERROR(ENOMEM)) throw detail::make_error(error, what(), "avcodec_send_packet");
    // A damaged packet costs one picture, not the stream: a broadcast joined in the middle starts with some.
    if (error < 0) ++damaged;
  }

  std::optional<Frame> read(Deadline deadline) {
    if (ended) return std::nullopt;
    while (true) {
      const int error = avcodec_receive_frame(decoder.codec(), frame.get());
      if (error == 0) {
        try {
          return deliver();
        } catch (...) {
          av_frame_unref(frame.get());
          throw;
        }
      }
      decoder.rethrow();
      if (error == AVERROR_EOF) {
        ended = true;
        if (source_failure) std::rethrow_exception(std::exchange(source_failure, nullptr));
        check_end();
        return std::nullopt;
      }
      if (error == AVERROR(ENOMEM)) throw detail::make_error(error, what(), "avcodec_receive_frame");
      if (error != AVERROR(EAGAIN)) {
        ++damaged;
        if (draining && damaged > 1'000'000)
          throw detail::make_error(error, what() + " cannot be decoded", "avcodec_receive_frame");
        continue;
      }
      feed(deadline);
    }
  }

  /// After the last frame: checks that the file held all that its header promised.
  void check_end() const {
    if (input.truncated()) {
      throw Error(Code::kDataLoss, what() + " ends early: " + std::to_string(frames) +
                                       " frames could be read, then bytes are missing; "
                                       "the file is truncated, copy or record it again");
    }
    if (frames == 0) {
      throw Error(Code::kDataLoss, what() + ": no frame could be decoded (" + std::to_string(damaged) +
                                       " damaged packets); the file is damaged");
    }
    if (damaged != 0 && !input.live() && !input.has_gaps()) {
      throw Error(Code::kDataLoss, what() + ": " + std::to_string(damaged) + " packets were damaged, " +
                                       std::to_string(frames) + " frames could be read; copy or record it again");
    }
  }

  void convert_if_needed() {
    const auto format = static_cast<AVPixelFormat>(frame->format);
    const AVPixFmtDescriptor* descriptor = av_pix_fmt_desc_get(format);
    if (detail::find_common(format) || !descriptor || (descriptor->flags & AV_PIX_FMT_FLAG_HWACCEL)) return;
    const AVPixelFormat target = detail::nearest_mapped(format);
    if (options.policy == ZeroCopy::kRequire) {
      throw Error(Code::kFailedPrecondition, what() + ": a picture is " + ffmpeg::to_string(format) +
                                                 ", which would be converted to " + ffmpeg::to_string(target) +
                                                 ", and zero copy is required");
    }
    FramePtr out = detail::new_frame();
    out->format = target;
    out->width = frame->width;
    out->height = frame->height;
    if (decoder.pooled()) {
      decoder.fill(decoder.codec(), *out);
    } else if (const int error = av_frame_get_buffer(out.get(), 0); error < 0) {
      throw detail::make_error(error, what(), "av_frame_get_buffer");
    }
    converter.convert(*frame, *out, ledger());
    frame = std::move(out);
    converted = true;
  }

  /// For decoders without direct rendering, when pool memory was asked for.
  void copy_into_pool() {
    FramePtr pooled = detail::new_frame();
    pooled->format = frame->format;
    pooled->width = frame->width;
    pooled->height = frame->height;
    decoder.fill(decoder.codec(), *pooled);
    if (const int error = av_frame_copy_props(pooled.get(), frame.get()); error < 0)
      throw detail::make_error(error, what(), "av_frame_copy_props");
    pooled->crop_top = pooled->crop_bottom = pooled->crop_left = pooled->crop_right = 0;
    if (frame->crop_top | frame->crop_bottom | frame->crop_left | frame->crop_right) {
      av_frame_apply_cropping(frame.get(), AV_FRAME_CROP_UNALIGNED);
      pooled->width = frame->width;
      pooled->height = frame->height;
    }
    av_image_copy(pooled->data, pooled->linesize, const_cast<const std::uint8_t**>(frame->data), frame->linesize,
                  static_cast<AVPixelFormat>(frame->format), frame->width, frame->height);
    static const EdgeId edge = register_edge("ffmpeg.decoder-copy");
    ledger().book_map(edge, false);
    const int bytes =
        av_image_get_buffer_size(static_cast<AVPixelFormat>(frame->format), frame->width, frame->height, 1);
    ledger().book_copied(edge, bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0);
    copied = true;
    frame = std::move(pooled);
  }

  /// The device's frame, as the caller wants it, or as dma-bufs.
  Frame take_hardware() {
    const AVRational time_base = input.stream()->time_base;
    if (options.take_hardware) return options.take_hardware(frame.get(), time_base);
    if (frame->hw_frames_ctx && (!surfaces_of || surfaces_of->data != frame->hw_frames_ctx->data)) {
      // Held, so that no other context can have its address.
      surfaces_of = std::shared_ptr<AVBufferRef>(av_buffer_ref(frame->hw_frames_ctx),
                                                 [](AVBufferRef* last) { av_buffer_unref(&last); });
      surfaces = dmabuf::ImportCache();
    }
    return adopt_hardware(frame.get(), time_base, &surfaces);
  }

  std::optional<Frame> deliver() {
    if ((frame->flags & AV_FRAME_FLAG_CORRUPT) != 0 || frame->decode_error_flags != 0) ++damaged_frames;
    // A picture without a rotation of its own has the container's.
    if (rotation != Rotation::kNone && !av_frame_get_side_data(frame.get(), AV_FRAME_DATA_DISPLAYMATRIX))
      set_rotation(*frame, rotation);
    const std::int64_t presented = frame->pts;
    convert_if_needed();
    const bool in_pool = frame->buf[0] && detail::pooled_at(frame->buf[0]->data);
    // Under `require` use_pool() admits only direct decoders. The few pictures that such a decoder began before
    // use_pool() was called stay where they are.
    if (decoder.pooled() && !in_pool && !frame->hw_frames_ctx && options.policy != ZeroCopy::kRequire) copy_into_pool();
    Frame result = detail::is_hardware(*frame) ? take_hardware() : adopt(frame.get(), input.stream()->time_base);
    move_on(result);
    if (const auto stated = sender_times.find(presented); options.sender_time && stated != sender_times.end()) {
      constexpr std::int64_t kFrom1900 = 2'208'988'800;
      metadata::of(result).add(metadata::ReferenceTime{"ntp", (stated->second + kFrom1900 * 1'000'000) * 1000});
      sender_times.erase(stated);
    }
    if (options.packets) {
      const std::int64_t time_ns =
          presented == AV_NOPTS_VALUE ? options.packets->last_time_ns() : to_ns(presented, input.stream()->time_base);
      metadata::of(result).add(Packets{options.packets, options.packets->generation(), time_ns});
    }
    const bool changed = result.info().width_px != info.width_px || result.info().height_px != info.height_px ||
                         !(result.info().format == info.format) || result.info().rotation != info.rotation;
    if (changed && frames != 0) {
      ++size_changes;
      result.metadata()["size_changed"] = true;
    }
    info = result.info();
    ++frames;
    return result;
  }

  /// Keeps the sender's clock of a packet until its picture comes.
  void note_sender_time() {
    std::size_t size = 0;
    const std::uint8_t* data = av_packet_get_side_data(packet.get(), AV_PKT_DATA_PRFT, &size);
    if (!data || size < sizeof(AVProducerReferenceTime) || packet->pts == AV_NOPTS_VALUE) return;
    AVProducerReferenceTime stated;
    std::memcpy(&stated, data, sizeof stated);
    constexpr std::size_t kMost = 256;  // Pictures that are lost leave their times behind.
    if (sender_times.size() == kMost) sender_times.erase(sender_times.begin());
    sender_times[packet->pts] = stated.wallclock;
  }

  /// Joins the times of a stream whose clock jumps, as FFmpeg's tools do: with a limit of 10 s where jumps are common, beyond the
  /// time that a live stream was silent, and of 30 hours elsewhere.
  void move_on(Frame& result) {
    // Program streams say no time for some pictures, the last ones among them.
    if (result.timestamp_ns() == kNoTimestamp && !has_times) return;
    has_times = true;
    using std::chrono::nanoseconds;
    nanoseconds most_ahead = input.clock_may_jump() ? std::chrono::seconds(10) : std::chrono::hours(30);
    const Clock::time_point now = Clock::now();
    if (input.live() && frames != 0) most_ahead += std::chrono::duration_cast<nanoseconds>(now - last_came);
    last_came = now;
    result.set_timestamp_ns(
        time.next(result.timestamp_ns(), fps > 0 ? std::llround(1e9 / fps) : 0, most_ahead.count()));
  }

  Ledger& ledger() const { return options.ledger ? *options.ledger : Ledger::process(); }
  std::string what() const { return "video \"" + input.name() + "\""; }

  Options options;
  detail::Input input;
  detail::Decoder decoder;
  detail::Converter converter;
  /// Has the device's surfaces, which the frames context makes: another size has others.
  dmabuf::ImportCache surfaces;
  std::shared_ptr<AVBufferRef> surfaces_of;
  PacketPtr packet = detail::new_packet();
  FramePtr frame = detail::new_frame();
  FrameInfo info;
  Rotation rotation = Rotation::kNone;  ///< From the container.
  double fps = 0;
  std::uint64_t frames = 0, size_changes = 0, damaged = 0, damaged_frames = 0;
  StreamTime time;
  bool has_times = false;                             ///< A frame had one.
  std::map<std::int64_t, std::int64_t> sender_times;  ///< By the time of the packet: us since 1970.
  Clock::time_point last_came;                        ///< When the last frame came.
  std::exception_ptr source_failure;
  bool draining = false, ended = false;
  bool copied = false, converted = false;
};

TENON_INLINE Video::Video(const std::string& name, Options options)
    : impl_(std::make_unique<Impl>(name, std::move(options))) {}
TENON_INLINE Video::Video(Video&&) noexcept = default;
TENON_INLINE Video& Video::operator=(Video&&) noexcept = default;
TENON_INLINE Video::~Video() = default;
TENON_INLINE const FrameInfo& Video::info() const { return impl_->info; }
TENON_INLINE double Video::fps() const { return impl_->fps; }
TENON_INLINE AVRational Video::pixel_aspect() const {
  const AVRational known = av_guess_sample_aspect_ratio(impl_->input.format(), impl_->input.stream(), nullptr);
  return known.num > 0 && known.den > 0 ? known : AVRational{1, 1};
}
TENON_INLINE bool Video::live() const { return impl_->input.live(); }
TENON_INLINE std::string Video::codec() const { return avcodec_get_name(impl_->decoder.codec()->codec_id); }

TENON_INLINE std::optional<std::chrono::nanoseconds> Video::duration() const {
  if (live()) return std::nullopt;
  const AVStream& stream = *impl_->input.stream();
  if (stream.duration != AV_NOPTS_VALUE && stream.duration > 0)
    return std::chrono::nanoseconds(to_ns(stream.duration, stream.time_base));
  const std::int64_t us = impl_->input.duration_us();
  if (us == 0) return std::nullopt;
  return std::chrono::microseconds(us);
}

TENON_INLINE std::optional<std::uint64_t> Video::frame_count() const {
  if (live()) return std::nullopt;
  if (const std::int64_t count = impl_->input.stream()->nb_frames; count > 0) return static_cast<std::uint64_t>(count);
  const auto length = duration();
  if (!length || impl_->fps <= 0) return std::nullopt;
  return static_cast<std::uint64_t>(std::llround(std::chrono::duration<double>(*length).count() * impl_->fps));
}

TENON_INLINE std::string Video::path() const {
  std::string text = codec();
  if (impl_->converted) text += " -> swscale";
  if (!impl_->decoder.pooled())
    return text + " -> " + impl_->decoder.place();
  else if (impl_->copied || (impl_->decoder.pooled() && !impl_->decoder.direct()))
    text += " -> copy";
  return text + " -> pool(" + impl_->decoder.pool_name() + ")";
}

TENON_INLINE void Video::use_pool(const Requirements& wanted, const Context& allocator, std::size_t limit) {
  impl_->use_pool(wanted, allocator, limit);
}
TENON_INLINE void Video::use_pool(const AllocationPlan& plan, std::size_t limit) { impl_->use_pool(plan, limit); }
TENON_INLINE std::optional<Frame> Video::read(Deadline deadline) { return impl_->read(deadline); }
TENON_INLINE std::optional<Frame> Video::read() { return impl_->read(Clock::now() + impl_->options.read_timeout); }
TENON_INLINE std::uint64_t Video::frames_read() const { return impl_->frames; }
TENON_INLINE std::uint64_t Video::size_changes() const { return impl_->size_changes; }
TENON_INLINE std::uint64_t Video::damaged_packets() const { return impl_->damaged; }
TENON_INLINE std::uint64_t Video::damaged_frames() const { return impl_->damaged_frames; }
TENON_INLINE std::size_t Video::pool_size() const {
  const auto pool = impl_->decoder.pool();
  return pool ? pool->size() : 0;
}

TENON_INLINE Video::Iterator& Video::Iterator::operator++() {
  frame_.reset();  // Returns the buffer before taking the next.
  frame_ = video_->read();
  if (!frame_) video_ = nullptr;
  return *this;
}

}  // namespace ffmpeg
}  // namespace v1
}  // namespace tenon
