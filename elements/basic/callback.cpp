// SPDX-License-Identifier: Apache-2.0
// Adapters that call a program's functions behind the interfaces of elements.
#include <tenon/elements/callback.hpp>

#include <memory>
#include <utility>

#include <tenon/core/error.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {
namespace {

class FunctionSource final : public Source {
 public:
  FunctionSource(GiveFrame give, StreamInfo info) : give_(std::move(give)), info_(info) {}
  StreamInfo open(Deadline) override { return info_; }
  std::optional<Frame> read(Deadline deadline) override { return give_(deadline); }

 private:
  const GiveFrame give_;
  const StreamInfo info_;
};

class FunctionTransform final : public TransformInplace {
 public:
  FunctionTransform(ChangeFrame change, Requirements wanted) : change_(std::move(change)), wanted_(std::move(wanted)) {}
  Requirements wanted(const StreamInfo&) const override { return wanted_; }
  void process(std::uint32_t stream, Frame& frame) override { change_(stream, frame); }

 private:
  const ChangeFrame change_;
  const Requirements wanted_;
};

class FunctionSink final : public Sink {
 public:
  FunctionSink(TakeFrame take, Requirements wanted) : take_(std::move(take)), wanted_(std::move(wanted)) {}
  Requirements wanted(const StreamInfo&) const override { return wanted_; }
  void write(std::uint32_t stream, const Frame& frame) override { take_(stream, frame); }

 private:
  const TakeFrame take_;
  const Requirements wanted_;
};

class FunctionAudioSink final : public Sink {
 public:
  explicit FunctionAudioSink(TakeAudio take) : take_(std::move(take)) {}
  void write(std::uint32_t, const Frame&) override {}
  void write_audio(std::uint32_t stream, const AudioFrame& audio) override { take_(stream, audio); }

 private:
  const TakeAudio take_;
};

/// @errors kInvalidArgument: the function is empty.
template <typename Made, typename Function, typename... More>
KnownElement element_of(Description description, Function function, More... more) {
  if (!function) throw Error(Code::kInvalidArgument, "element '" + description.name + "': its function is empty");
  return {std::move(description), [=](const Parameters&, const Environment&) -> AnyElement {
            return std::make_unique<Made>(function, more...);
          }};
}

Requirements on_host(Requirements wanted) {
  wanted.host_access = wanted.host_access || wanted.kinds.empty();
  return wanted;
}

}  // namespace

KnownElement source_of(std::string name, const StreamInfo& info, GiveFrame give) {
  return element_of<FunctionSource>({std::move(name), "Frames of the program's own", Role::kSource}, std::move(give),
                                    info);
}

KnownElement transform_of(std::string name, ChangeFrame change, Requirements wanted) {
  return element_of<FunctionTransform>(
      {std::move(name), "A function of the program", Role::kTransformInplace, {}, true}, std::move(change),
      on_host(std::move(wanted)));
}

KnownElement sink_of(std::string name, TakeFrame take, Requirements wanted) {
  return element_of<FunctionSink>({std::move(name), "A function of the program", Role::kSink, {}, true},
                                  std::move(take), on_host(std::move(wanted)));
}

KnownElement audio_sink_of(std::string name, TakeAudio take) {
  return element_of<FunctionAudioSink>(
      {std::move(name), "A function of the program", Role::kSink, {}, true, false, Takes::kAudio}, std::move(take));
}

NodeSpec node_of(KnownElement element) {
  NodeSpec node{element.description.name};
  node.own = std::make_shared<const KnownElement>(std::move(element));
  return node;
}

}  // namespace elements
}  // namespace v1
}  // namespace tenon
