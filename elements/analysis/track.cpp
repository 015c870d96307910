// SPDX-License-Identifier: Apache-2.0
// Passes detections from the metadata to the tracker, and its ids back.
#include <tenon/elements/analysis/track.hpp>

#include <algorithm>
#include <mutex>

#include <tenon/core/error.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/elements/internal/text.hpp>
#include <tenon/vision/results.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace analysis {
namespace {

constexpr int kPatience = 30;  ///< Frames with objects and without embeddings after which that is said.
/// Numbers of one embedding, and of the embeddings of a frame, where an object without one has as many. Models for re-identification give
/// some thousand; frames of another process, where nothing is believed, may bring millions beside thousands of objects.
constexpr std::size_t kMaxLength = 16'384;
constexpr std::size_t kMaxNumbers = std::size_t{16} << 20;
/// Objects of a frame. Detectors give some hundred; the tracker compares each with each that it overlaps.
constexpr std::size_t kMaxObjects = 4096;

vision::TrackerOptions options_from(const Parameters& given) {
  vision::TrackerOptions options;
  options.iou_threshold = static_cast<float>(given.number("iou"));
  options.confidence_threshold = static_cast<float>(given.number("confidence"));
  options.keep_pictures = static_cast<std::uint32_t>(given.integer("keep"));
  options.confirm_pictures = static_cast<std::uint32_t>(given.integer("confirm"));
  options.across_labels = given.flag("across_labels");
  options.max_objects = static_cast<std::uint32_t>(given.integer("max_objects"));
  options.appearance_threshold = static_cast<float>(given.number("appearance_threshold"));
  options.appearance_overlap = static_cast<float>(given.number("appearance_overlap"));
  options.appearance_reach = static_cast<float>(given.number("appearance_reach"));
  options.appearance_momentum = static_cast<float>(given.number("appearance_momentum"));
  options.appearance_keep_pictures = static_cast<std::uint32_t>(given.integer("appearance_keep"));
  return options;
}

/// The gallery of that name, which all trackers of the process share; null without a name.
/// @errors kInvalidArgument: without appearance, or a gallery that another tracker made in another way.
std::shared_ptr<vision::Gallery> gallery_of(const Parameters& given) {
  struct Known {
    std::weak_ptr<vision::Gallery> gallery;
    double threshold = 0, keep_s = 0;
  };
  static std::mutex mutex;
  static auto& all = *new std::map<std::string, Known>;  // Outlives static destructors.
  const std::string& name = given.text("gallery");
  if (name.empty()) return nullptr;
  const double threshold = given.number("gallery_threshold"), keep_s = given.number("gallery_keep_s");
  if (!given.flag("appearance"))
    throw Error(Code::kInvalidArgument, given.owner() + ": gallery=" + name +
                                            " compares embeddings; set appearance=true, and put a model for "
                                            "re-identification before it");
  const std::lock_guard lock(mutex);
  Known& known = all[name];
  if (auto there = known.gallery.lock()) {
    if (known.threshold == threshold && known.keep_s == keep_s) return there;
    throw Error(Code::kInvalidArgument, given.owner() + ": gallery=" + name +
                                            " is used by another tracker with another gallery_threshold or "
                                            "gallery_keep_s; give all of them the same");
  }
  vision::GalleryOptions options;
  options.threshold = static_cast<float>(threshold);
  options.keep = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(keep_s));
  auto made = std::make_shared<vision::Gallery>(options);
  known = {made, threshold, keep_s};
  return made;
}

/// Whether a tensor is an embedding. @param takes_raw  A vector that a model gave and nothing decoded is one, too.
bool is_embedding(const metadata::TensorOutput& output, bool takes_raw) {
  const Tensor& values = output.tensor;
  if (!values || !values.is_host_addressable() || !values.is_contiguous() || values.element_type() != ElementType::kF32)
    return false;
  if (output.format == "embedding") return true;
  const Shape& shape = values.shape();
  const auto is_many = [](std::size_t extent) { return extent > 1; };
  return takes_raw && output.format.empty() && std::count_if(shape.begin(), shape.end(), is_many) == 1;
}

}  // namespace

Track::Track(const Parameters& given, const Environment& environment)
    : owner_(given.owner()),
      wanted_labels_(split(given.text("labels"), ',')),
      has_appearance_(given.flag("appearance")),
      takes_raw_(given.flag("raw_embeddings")),
      follows_camera_(given.flag("camera_motion")),
      tracker_(options_from(given)),
      host_(environment.ledger),
      gallery_(gallery_of(given)) {}

Track::~Track() { leave_gallery(); }

void Track::leave_gallery() {
  if (camera_number_ != 0) gallery_->remove_camera(camera_number_);
  camera_number_ = 0;
}

Requirements Track::wanted(const StreamInfo&) const {
  Requirements all;
  all.host_access = follows_camera_;
  return all;
}

StreamInfo Track::open(std::uint32_t, const StreamInfo& in) {
  camera_.reset();
  tracker_.reset();
  labels_.clear();
  leave_gallery();
  if (gallery_) camera_number_ = gallery_->add_camera();  // Ids of the tracker are others than before.
  return in;
}

std::span<const std::int64_t> Track::over_cameras(std::span<const std::int64_t> ids, const vision::Appearance& looks) {
  seen_.clear();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0) continue;
    seen_.push_back({ids[i], objects_[i].label_id, looks.rows.subspan(i * looks.length, looks.length)});
  }
  gallery_->find(camera_number_, Clock::now(), seen_, known_);
  over_cameras_.assign(ids.size(), -1);
  for (std::size_t i = 0, at = 0; i < ids.size(); ++i)
    if (ids[i] >= 0) over_cameras_[i] = known_[at++];
  return over_cameras_;
}

/// Objects at the places where they are expected, as far as these lie in the picture.
void Track::add_expected(Frame& frame) {
  const auto width = static_cast<float>(frame.info().upright_width_px());
  const auto height = static_cast<float>(frame.info().upright_height_px());
  for (const vision::Tracker::Expected& object : tracker_.skip()) {
    const metadata::Box box{std::clamp(object.box.x1, 0.0f, width), std::clamp(object.box.y1, 0.0f, height),
                            std::clamp(object.box.x2, 0.0f, width), std::clamp(object.box.y2, 0.0f, height)};
    if (!(box.x2 > box.x1) || !(box.y2 > box.y1)) continue;
    const std::int64_t id = gallery_ ? gallery_->id_of(camera_number_, object.id) : object.id;
    metadata::of(frame).add(metadata::Detection{box, labels_[object.id], object.label_id, object.score, id});
  }
}

/// The embeddings that belong to the objects; the last of each. An object without one gets zeros, which say nothing. If there is none in
/// the first frames with objects, a remark in the metadata says so once.
/// @errors kFailedPrecondition: embeddings of two lengths; kResourceExhausted: more than kMaxLength or kMaxNumbers.
vision::Appearance Track::looks_of(Frame& frame, const metadata::Collection& known,
                                   const std::vector<metadata::Entry<metadata::Detection>>& objects) {
  std::size_t length = 0;
  looks_.clear();
  for (const auto& tensor : known.all<metadata::TensorOutput>()) {
    if (!is_embedding(*tensor.value, takes_raw_)) continue;
    const Tensor& values = tensor->tensor;
    const auto object =
        std::find_if(objects.begin(), objects.end(), [&](const auto& one) { return one.id == tensor.parent; });
    if (object == objects.end()) continue;
    const std::size_t count = element_count(values.shape());
    if (length == 0) {
      if (count > kMaxLength || count > kMaxNumbers / objects.size())
        throw Error(Code::kResourceExhausted, owner_ + ": " + std::to_string(objects.size()) +
                                                  " objects with an embedding of " + std::to_string(count) +
                                                  " numbers, expected at most " + std::to_string(kMaxLength) +
                                                  " numbers for an object and " + std::to_string(kMaxNumbers) +
                                                  " for all; give track the output of a model for re-identification");
      length = count;
      looks_.assign(objects.size() * length, 0);
    }
    if (count != length)
      throw Error(Code::kFailedPrecondition, owner_ + ": objects have embeddings of " + std::to_string(length) +
                                                 " and of " + std::to_string(count) +
                                                 " numbers; give track those of one model, with one output");
    std::copy_n(values.data<float>(), length,
                looks_.begin() + (object - objects.begin()) * static_cast<std::ptrdiff_t>(length));
  }
  if (length == 0 && unlike_ < kPatience && ++unlike_ == kPatience)
    metadata::of(frame).add(vision::ModelRemark{owner_ + ": appearance is on, and no object has had an embedding so "
                                                         "far; put an element infer with on=objects, a model "
                                                         "for re-identification and decode=embedding before it",
                                                ""});
  if (length != 0) unlike_ = kPatience;
  return {looks_, length};
}

void Track::process(std::uint32_t, Frame& frame) {
  if (follows_camera_) tracker_.camera_moved(camera_.update(host_.map(frame)));
  const auto known = metadata::find(frame);
  if (!known) {
    tracker_.update({});
    return;
  }
  auto entries = known->all<metadata::Detection>();
  if (entries.empty() && known->first<metadata::NotLookedAt>()) return add_expected(frame);
  if (!wanted_labels_.empty())
    std::erase_if(entries, [&](const auto& entry) {
      return std::find(wanted_labels_.begin(), wanted_labels_.end(), entry->label) == wanted_labels_.end();
    });
  if (entries.size() > kMaxObjects)
    throw Error(Code::kResourceExhausted, owner_ + ": a frame with " + std::to_string(entries.size()) +
                                              " objects, expected at most " + std::to_string(kMaxObjects) +
                                              "; raise the threshold of the model that finds them");
  objects_.resize(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const metadata::Box& box = entries[i]->box;
    objects_[i].box = {box.x1, box.y1, box.x2, box.y2};
    objects_[i].label_id = entries[i]->label_id;
    objects_[i].score = entries[i]->score;
  }
  vision::Appearance looks;
  if (has_appearance_ && !entries.empty()) looks = looks_of(frame, *known, entries);
  const auto ids = tracker_.update(objects_, looks);
  const auto shown = gallery_ ? over_cameras(ids, looks) : ids;
  metadata::Collection& results = metadata::of(frame);
  labels_.clear();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (ids[i] < 0) continue;
    labels_[ids[i]] = entries[i]->label;
    metadata::Detection found = *entries[i].value;
    found.track_id = shown[i];
    results.replace(entries[i].id, std::move(found));
  }
}

}  // namespace analysis
}  // namespace elements
}  // namespace v1
}  // namespace tenon
