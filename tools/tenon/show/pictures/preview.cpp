// SPDX-License-Identifier: Apache-2.0
// Makes the small pictures: scales by swscale, encodes by FFmpeg.
#include <tenon/tools/tenon/show/pictures/preview.hpp>

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include <tenon/core/ledger.hpp>
#include <tenon/elements/places.hpp>
#include <tenon/frameworks/ffmpeg/client.hpp>
#include <tenon/vision/draw.hpp>
#include <tenon/vision/metadata.hpp>

#include <tenon/tools/tenon/show/pictures/picture.hpp>

namespace tenon::tool {
namespace {

constexpr std::size_t kMostStreams = 1024;  ///< With pictures.

using namespace std::chrono_literals;

/// A sink of the tool's own.
class PreviewSink final : public elements::Sink {
 public:
  PreviewSink(std::shared_ptr<Previews> previews, std::set<std::uint32_t> drawn)
      : previews_(std::move(previews)), drawn_(std::move(drawn)) {}
  ~PreviewSink() override { sws_freeContext(scaler_); }

  void write(std::uint32_t stream, const Frame& frame) override {
    if (!frame || !previews_->is_due(stream)) return;
    try {
      ffmpeg::FramePtr small = scaled(frame);
      if (!drawn_.contains(stream)) small = with_what_was_found(frame, std::move(small));
      const std::vector<char> jpeg = encode_picture(AV_CODEC_ID_MJPEG, *small, "preview");
      previews_->put(stream, {jpeg.data(), jpeg.size()});
    } catch (const std::exception&) {
      // A format that cannot be shown is no reason to stop the pipeline: the page says that there is no picture.
    }
  }
  void write_audio(std::uint32_t, const AudioFrame&) override {}

 private:
  ffmpeg::FramePtr scaled(const Frame& frame) {
    const ffmpeg::FramePtr from = ffmpeg::av_frame(frames_.map(frame));
    const int width = std::min(from->width, Previews::kWidth_px) & ~1;
    const int height = std::max(2, static_cast<int>(std::int64_t{from->height} * width / from->width) & ~1);
    ffmpeg::FramePtr small = ffmpeg::client::new_frame();
    small->format = AV_PIX_FMT_YUVJ420P;
    small->width = width;
    small->height = height;
    if (const int error = av_frame_get_buffer(small.get(), 0); error < 0)
      throw ffmpeg::client::make_error(error, "preview", "av_frame_get_buffer");
    // The full range is set by a call of its own: swscale warns about formats whose names say it.
    scaler_ = sws_getCachedContext(scaler_, from->width, from->height, static_cast<AVPixelFormat>(from->format), width,
                                   height, AV_PIX_FMT_YUV420P, SWS_BILINEAR, nullptr, nullptr, nullptr);
    const int* const weights = sws_getCoefficients(SWS_CS_DEFAULT);
    const int is_full = from->color_range == AVCOL_RANGE_JPEG;
    if (scaler_) sws_setColorspaceDetails(scaler_, weights, is_full, weights, 1, 0, 1 << 16, 1 << 16);
    if (!scaler_ || sws_scale(scaler_, from->data, from->linesize, 0, from->height, small->data, small->linesize) < 0)
      throw Error(Code::kUnimplemented, "preview: swscale does not read " + to_string(frame.info().format));
    return small;
  }

  static ffmpeg::FramePtr with_what_was_found(const Frame& frame, ffmpeg::FramePtr small) {
    std::vector<vision::Detection> found = vision::detections(frame);
    if (found.empty()) return small;
    const int format = small->format;
    const Frame picture = ffmpeg::adopt(small.get());
    const float x = static_cast<float>(picture.info().width_px) / static_cast<float>(frame.info().width_px);
    const float y = static_cast<float>(picture.info().height_px) / static_cast<float>(frame.info().height_px);
    for (vision::Detection& object : found) {
      vision::Box& box = object.box;
      box = {box.x1 * x, box.y1 * y, box.x2 * x, box.y2 * y};
    }
    vision::draw(picture, found);
    ffmpeg::FramePtr drawn = ffmpeg::av_frame(picture);
    drawn->format = format;  // JPEG's format, whose name says that the range is full.
    return drawn;
  }

  std::shared_ptr<Previews> previews_;
  const std::set<std::uint32_t> drawn_;  ///< Streams on whose pictures the detections are drawn already.
  Ledger own_;                           ///< The preview's own copies, which are not the pipeline's.
  elements::HostFrames frames_{&own_};
  SwsContext* scaler_ = nullptr;
};

/// The nodes before the last sinks, chosen so that no stream comes from two of them.
std::vector<std::string> seen_from(const elements::PipelinePlan& plan) {
  std::set<std::uint32_t> streams;
  std::vector<std::string> names;
  for (std::size_t i = plan.nodes.size(); i-- > 0;) {
    const auto& node = plan.nodes[i];
    const bool feeds_sink =
        std::any_of(node.to.begin(), node.to.end(), [&](std::size_t to) { return plan.nodes[to].to.empty(); });
    const bool is_new =
        std::none_of(node.gives.begin(), node.gives.end(), [&](std::uint32_t one) { return streams.contains(one); });
    if (!feeds_sink || !is_new) continue;
    streams.insert(node.gives.begin(), node.gives.end());
    names.push_back(node.spec.name);
  }
  return names;
}

/// The streams that come to `seen` through an element that draws.
std::set<std::uint32_t> drawn_streams(const elements::PipelinePlan& plan, const std::vector<std::string>& seen) {
  std::vector<bool> is_drawn(plan.nodes.size());
  std::set<std::uint32_t> streams;
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {  // Each stands behind those that feed it.
    const auto& node = plan.nodes[i];
    if (!is_drawn[i] && node.spec.element != "draw") continue;
    for (const std::size_t to : node.to) is_drawn[to] = true;
    if (std::count(seen.begin(), seen.end(), node.spec.name) != 0) streams.insert(node.gives.begin(), node.gives.end());
  }
  return streams;
}

}  // namespace

std::shared_ptr<const std::string> Previews::latest(std::uint32_t stream) {
  const std::lock_guard lock(mutex_);
  looked_ = std::chrono::steady_clock::now();
  const auto found = pictures_.find(stream);
  return found == pictures_.end() ? nullptr : found->second.jpeg;
}

std::map<std::uint32_t, std::shared_ptr<const std::string>> Previews::all() const {
  const std::lock_guard lock(mutex_);
  std::map<std::uint32_t, std::shared_ptr<const std::string>> made;
  for (const auto& [stream, picture] : pictures_)
    if (picture.jpeg) made[stream] = picture.jpeg;
  return made;
}

bool Previews::is_due(std::uint32_t stream) {
  const Time now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  // Streams come and go, each with a new number: those that had a picture last are kept.
  if (pictures_.size() >= kMostStreams && pictures_.count(stream) == 0)
    pictures_.erase(std::min_element(pictures_.begin(), pictures_.end(),
                                     [](const auto& a, const auto& b) { return a.second.made < b.second.made; }));
  Picture& picture = pictures_[stream];
  const bool is_seen = now - looked_ < 3s;
  if (picture.made != Time{} && now - picture.made < (is_seen ? 200ms : 1000ms)) return false;
  if (!is_seen && !always_ && picture.made != Time{}) return false;
  picture.made = now;
  return true;
}

void Previews::put(std::uint32_t stream, std::string jpeg) {
  auto made = std::make_shared<const std::string>(std::move(jpeg));
  const std::lock_guard lock(mutex_);
  pictures_[stream].jpeg.swap(made);
}

void add_previews(elements::PipelineSpec& spec, std::shared_ptr<Previews> previews) {
  const elements::PipelinePlan plan = elements::plan_pipeline(spec);
  const std::vector<std::string> seen = seen_from(plan);
  elements::KnownElement known;
  known.description.name = kPreviewElement;
  known.description.role = elements::Role::kSink;
  known.description.is_shared = true;
  known.description.takes = elements::Takes::kBoth;
  known.factory = [previews = std::move(previews), drawn = drawn_streams(plan, seen)](
                      const elements::Parameters&, const elements::Environment&) -> elements::AnyElement {
    return std::make_unique<PreviewSink>(previews, drawn);
  };
  elements::NodeSpec node;
  node.element = node.name = kPreviewElement;
  node.from = seen;
  node.queue = elements::QueueOptions{std::max<std::size_t>(2, plan.streams), elements::WhenFull::kDropOldest};
  node.own = std::make_shared<const elements::KnownElement>(std::move(known));
  spec.nodes.push_back(std::move(node));
}

}  // namespace tenon::tool
