// SPDX-License-Identifier: Apache-2.0
// Metadata of frames: objects, classes, tensors, masks, events, texts, clocks, the source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/hashed_name.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {
namespace metadata {

/// Names a type of metadata: an open set, like MemoryKind. Names must be literals.
class Kind : public NameOf<Kind> {
 public:
  using NameOf::NameOf;
};

/// Corners in pixels of the frame that carries it, as it is upright, continuous: pixel i covers [i, i + 1).
struct Box {
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  friend bool operator==(const Box&, const Box&) = default;
};

/// @name The types that Tenon's own code writes and reads. A user-defined type needs a kKind. With json() it appears in
/// JSON lines; with cropped() it follows crops (false: it is not in the crop). For Collection::merge() it may have same_as(), and
/// join(other) for what the other knows more of the same thing (whether anything changed); without same_as(), == decides. @{

/// An object in a picture.
struct TENON_API Detection {
  static constexpr Kind kKind{"detection"};
  Box box;
  std::string label;
  int label_id = -1;
  float score = 0;             ///< 0..1.
  std::int64_t track_id = -1;  ///< Identifies the same object in other frames; -1: not tracked.
  std::string json() const;
  bool cropped(const Box& region);
  /// Whether it is the same find, tracked or not. Boxes may differ by kSamePx at each corner, which conversions of sizes leave.
  bool same_as(const Detection& other) const;
  bool join(const Detection& other);  ///< Takes its track, if this has none.
  static constexpr float kSamePx = 0.02f;
  friend bool operator==(const Detection&, const Detection&) = default;
};

/// A class of the frame, or of the object that it belongs to.
struct TENON_API Classification {
  static constexpr Kind kKind{"classification"};
  std::string label;
  int label_id = -1;
  float score = 0;
  std::string model;
  std::string json() const;
  friend bool operator==(const Classification&, const Classification&) = default;
};

/// A tensor that a model computed from the frame or the object. JSON contains its type and extents, and its values only
/// if they are points.
struct TENON_API TensorOutput {
  static constexpr Kind kKind{"tensor"};
  Tensor tensor;
  std::string name, model;
  std::string format;  ///< The meaning of the values ("embedding", "keypoints", "polygon", "depth"); free text.
  /// Whether it holds points that the CPU can read: format "keypoints" or "polygon", f32 [points, x y and more] in pixels of
  /// the frame that carries it, continuous as a Box.
  bool has_points() const;
  /// A copy with moved points, in memory of its own. @param move  Called with each point. @pre has_points()
  TensorOutput moved(const std::function<void(float& x, float& y)>& move) const;
  std::string json() const;
  bool cropped(const Box& region);  ///< Points outside of the region stay too, because a point's meaning is its index.
  /// Whether it has the same names and is the same memory, or the same points, which may differ as boxes may.
  bool same_as(const TensorOutput& other) const;
};

/// A mask over `box`: u8 [height, width] of any resolution, the index into `labels` or 0 and 1.
struct TENON_API Segmentation {
  static constexpr Kind kKind{"segmentation"};
  Box box;
  Tensor mask;
  std::vector<std::string> labels;
  std::string json() const;
  bool cropped(const Box& region);
  bool same_as(const Segmentation& other) const;  ///< Whether it has the same labels and place, and the same memory.
};

/// A sound event. Times are nanoseconds of the stream's clock.
struct TENON_API AudioEvent {
  static constexpr Kind kKind{"audio_event"};
  std::string label;
  int label_id = -1;
  float score = 0;
  std::int64_t begin_ns = 0, end_ns = 0;
  std::string json() const;
  friend bool operator==(const AudioEvent&, const AudioEvent&) = default;
};

/// A JSON value as text, carried as it is.
struct TENON_API Json {
  static constexpr Kind kKind{"json"};
  std::string text;
  std::string json() const;
  friend bool operator==(const Json&, const Json&) = default;
};

/// The frame's time by a clock beside the stream's own: "ntp", "unix", a PTP domain.
struct TENON_API ReferenceTime {
  static constexpr Kind kKind{"reference_time"};
  std::string clock;
  std::int64_t time_ns = 0;
  std::int64_t duration_ns = -1;  ///< -1: unknown.
  std::string json() const;
  friend bool operator==(const ReferenceTime&, const ReferenceTime&) = default;
};

/// The source of the frame.
struct TENON_API Source {
  static constexpr Kind kKind{"source"};
  std::string uri;
  std::uint64_t stream = 0;    ///< Number of the stream among several.
  std::uint64_t sequence = 0;  ///< Number of the frame in its stream.
  std::string json() const;
  friend bool operator==(const Source&, const Source&) = default;
};

/// Says that a model that looks at some of the frames did not look at this one, so that objects which are not here are not missing. Not
/// in JSON lines.
struct TENON_API NotLookedAt {
  static constexpr Kind kKind{"not_looked_at"};
  std::string model;
  friend bool operator==(const NotLookedAt&, const NotLookedAt&) = default;
};

/// A record of another library, carried as the text that it writes itself (a GstStructure). Not interpreted.
struct TENON_API Record {
  static constexpr Kind kKind{"record"};
  std::string name;  ///< Name of the type that carries it ("GstProtectionMeta").
  std::string text;
  std::string json() const;
  friend bool operator==(const Record&, const Record&) = default;
};
/// @}

/// Numbers an entry within its collection, from 1.
using Id = std::uint32_t;
/// "No parent": it belongs to the frame.
inline constexpr Id kFrame = 0;

template <typename T>
struct Entry {
  Id id = 0;
  Id parent = kFrame;  ///< The entry that it belongs to: a classification to its detection.
  std::shared_ptr<const T> value;
  const T* operator->() const { return value.get(); }
};

/// The metadata of one frame: values of any type with a kKind, in the order in which they were added. A value does not
/// change after it was added: replace() puts another in its place, so readers need no lock.
/// @thread all members from any thread.
class TENON_API Collection {
 public:
  Collection() = default;
  Collection(const Collection&) = delete;
  Collection& operator=(const Collection&) = delete;

  /// @errors kInvalidArgument: no entry `parent`. @cost a lock, one allocation.
  template <typename T>
  Id add(T value, Id parent = kFrame) {
    return insert(make(std::move(value)), parent);
  }
  /// All values of type T; with `parent` only those that belong to it.
  template <typename T>
  std::vector<Entry<T>> all() const {
    return select<T>([](Id) { return true; });
  }
  template <typename T>
  std::vector<Entry<T>> of(Id parent) const {
    return select<T>([parent](Id other) { return other == parent; });
  }
  /// The first value of type T; null when there is none.
  template <typename T>
  std::shared_ptr<const T> first() const {
    const std::vector<Entry<T>> entries = all<T>();
    return entries.empty() ? nullptr : entries.front().value;
  }
  /// False where there is no entry `id` of that type.
  template <typename T>
  bool replace(Id id, T value) {
    return exchange(id, make(std::move(value)));
  }
  /// Removes an entry and all that belong to it. False where there is none.
  bool remove(Id id);
  void clear();
  std::size_t size() const;
  bool empty() const { return size() == 0; }

  /// "[{"id":1,"kind":"detection",...},...]": entries of types with json(), in their order.
  std::string json() const;
  /// The entries that lie in `region`, with boxes in its coordinates. Entries keep their ids; children of a dropped
  /// entry are dropped too.
  std::shared_ptr<Collection> cropped(const Box& region) const;
  /// A copy: entries are shared, later changes are not.
  std::shared_ptr<Collection> copy() const;
  /// Adds what `other` knows of the same picture and this does not: the collections are copies of one that went on apart. An entry of
  /// `other` is here already if one of the same parent is the same object, or the same thing (same_as(), or ==); each of this
  /// collection's entries is that for one at most. Children follow their parents; order and ids of this collection stay.
  /// @cost entries times entries, in the worst case.
  void merge(const Collection& other);

 private:
  /// The operations on a type-erased value.
  struct Methods {
    std::string (*json)(const void*);
    /// The value in a crop: the same one, a changed one, or null.
    std::shared_ptr<const void> (*crop)(const std::shared_ptr<const void>&, const Box&);
    bool (*is_same)(const void*, const void*);
    /// The first value with what the second knows more of it; null: nothing.
    std::shared_ptr<const void> (*join)(const void*, const void*);
  };
  struct Item {
    Id id = 0, parent = kFrame;
    Kind kind;
    const Methods* methods = nullptr;
    std::shared_ptr<const void> value;
  };

  template <typename T>
  static Item make(T value) {
    static constexpr Methods kMethods{
        [](const void* held) {
          if constexpr (requires(const T& v) { v.json(); }) return static_cast<const T*>(held)->json();
          return std::string();
        },
        [](const std::shared_ptr<const void>& held, const Box& region) -> std::shared_ptr<const void> {
          if constexpr (requires(T & v) { v.cropped(region); }) {
            auto changed = std::make_shared<T>(*static_cast<const T*>(held.get()));
            if (!changed->cropped(region)) return nullptr;
            return changed;
          }
          return held;
        },
        [](const void* one, const void* other) -> bool {
          if (one == other) return true;
          const T &a = *static_cast<const T*>(one), &b = *static_cast<const T*>(other);
          if constexpr (requires { a.same_as(b); })
            return a.same_as(b);
          else if constexpr (requires { a == b; })
            return a == b;
          else
            return false;
        },
        [](const void* one, const void* other) -> std::shared_ptr<const void> {
          if constexpr (requires(T & v, const T& w) { v.join(w); }) {
            auto changed = std::make_shared<T>(*static_cast<const T*>(one));
            if (changed->join(*static_cast<const T*>(other))) return changed;
          }
          return nullptr;
        }};
    return {0, kFrame, T::kKind, &kMethods, std::make_shared<const T>(std::move(value))};
  }
  template <typename T, typename Accepts>
  std::vector<Entry<T>> select(Accepts accepts) const {
    std::vector<Entry<T>> found;
    std::shared_lock lock(mutex_);
    for (const Item& item : items_) {
      if (item.kind == T::kKind && accepts(item.parent))
        found.push_back({item.id, item.parent, std::static_pointer_cast<const T>(item.value)});
    }
    return found;
  }
  Id insert(Item item, Id parent);
  bool exchange(Id id, Item item);
  /// The items after the change; ids stay.
  template <typename Change>
  std::shared_ptr<Collection> derived(Change change) const;

  mutable std::shared_mutex mutex_;
  std::vector<Item> items_;
  Id last_ = 0;
};

/// The metadata of `frame`, created on first use. Copies of the frame and its maps to other contexts share it if it was
/// created before them; therefore sources create it. @thread creating it is a write of `frame`.
TENON_API Collection& of(Frame& frame);
/// Null when there is none. @thread any.
TENON_API std::shared_ptr<const Collection> find(const Frame& frame);
/// Replaces the collection of `frame` and of all frames that share its metadata. @thread a write of `frame`.
TENON_API void set(Frame& frame, std::shared_ptr<Collection> collection);

/// One JSON object on one line, without a line break: time, format and size of the frame, and its metadata. The size is that of the
/// upright picture, as the coordinates of boxes; where its planes lie otherwise, "rotation" says by how many degrees they are to be
/// turned clockwise, and "mirrored" that they are mirrored before. A batch has "frames". Text is written as valid UTF-8.
TENON_API std::string json_line(const Frame& frame);
/// `text` as a JSON string, with quotes.
TENON_API std::string json_string(std::string_view text);

}  // namespace metadata

/// The part of a picture in `x, y, width, height` (pixels of its planes, which lie as stored), sharing its planes. Metadata follows
/// (Collection::cropped), in the coordinates of the upright picture. Colours are those of the whole picture.
/// @errors kOutOfRange: it leaves the picture; kInvalidArgument: empty, an empty frame, a batch, tiled pixels, or a corner
/// between two chroma samples (the message says the step).
TENON_API Frame crop(const Frame& frame, std::uint32_t x, std::uint32_t y, std::uint32_t width, std::uint32_t height);

}  // namespace v1
}  // namespace tenon
