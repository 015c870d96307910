// SPDX-License-Identifier: Apache-2.0
// Knows objects again that another camera has seen, by what they look like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/policy.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {

struct GalleryOptions {
  /// The maximum distance of the features of one object: half of one minus their cosine, 0..1.
  float threshold = 0.15f;
  /// How much of an object's old features stays when it is seen again, 0..1.
  float momentum = 0.9f;
  /// How long an object is known after it was seen last.
  Clock::duration keep = std::chrono::minutes(5);
  /// The most objects that are known; another one takes the place of the one that was seen longest ago.
  std::size_t most = 4096;
};

/// Gives the tracks of several cameras ids that are the same wherever their features are. A new track is compared with all objects
/// that have its label; two tracks that one camera sees in one picture are never one object. A track keeps its id.
/// @thread any. @cost a lock; a new track is compared with all objects that are known.
class TENON_API Gallery {
 public:
  /// @errors kInvalidArgument: a threshold or momentum outside of 0..1, no room.
  explicit Gallery(const GalleryOptions& options = {});
  Gallery(const Gallery&) = delete;
  Gallery& operator=(const Gallery&) = delete;

  /// A number for a camera, or for one that begins anew: its tracks are other ones than before.
  std::uint32_t add_camera();
  void remove_camera(std::uint32_t camera);
  /// A track that a picture shows.
  struct Seen {
    std::int64_t track = -1;
    int label_id = 0;
    std::span<const float> features = {};  ///< Empty, or zeros: none in this picture.
  };
  /// The ids of the tracks in the next picture of a camera; -1: it has had no features yet. Ids begin at 1 and are never used again.
  /// @param ids  The id of each of `seen`. @errors kNotFound: no such camera; kInvalidArgument: features of another length than those of
  /// the objects, which are another model's.
  void find(std::uint32_t camera, Clock::time_point now, std::span<const Seen> seen, std::vector<std::int64_t>& ids);
  /// The id that the track has; -1: none. @errors as find()
  std::int64_t id_of(std::uint32_t camera, std::int64_t track) const;
  /// Objects that are known.
  std::size_t size() const;

 private:
  struct Object {
    std::int64_t id = 0;
    int label_id = 0;
    Clock::time_point seen{};
    std::vector<float> features;  ///< Scaled to the length 1.
  };
  using Camera = std::map<std::int64_t, std::int64_t>;  ///< The ids by track.
  /// A new track that looks like an object.
  struct Pair {
    float distance = 0;
    std::size_t track = 0;
    std::int64_t id = 0;
  };

  Object* object(std::int64_t id);
  template <typename IsGone>
  void forget(IsGone is_gone);
  bool read(std::span<const float> features);
  void add(const Seen& one, Clock::time_point now, std::int64_t id);
  void learn(Object& object, Clock::time_point now);
  void know_new(Camera& camera, Clock::time_point now, std::span<const Seen> seen, std::vector<std::int64_t>& ids);

  const GalleryOptions options_;
  mutable std::mutex mutex_;
  std::vector<Object> objects_;
  std::map<std::uint32_t, Camera> cameras_;
  std::vector<float> row_;  ///< The features of the track in question, scaled to the length 1.
  std::vector<Pair> pairs_;
  std::uint32_t last_camera_ = 0;
  std::int64_t last_id_ = 0;
};

}  // namespace vision
}  // namespace v1
}  // namespace tenon
