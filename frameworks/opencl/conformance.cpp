// SPDX-License-Identifier: Apache-2.0
// OpenCL for the conformance suite: over one cl_context, one entry per kind of memory and one for another queue. The
// environment (OCL_ICD_VENDORS) selects the platform.
#include <tenon/frameworks/opencl/contexts.hpp>

#include <tenon/tests/conformance/framework.hpp>
#include <tenon/tests/conformance/users_objects.hpp>

namespace opencl_conformance {

using namespace tenon;

/// One context for all entries, so that memory can pass between them.
const Context& main_context() {
  static const Context* context = new Context(opencl::make_context());
  return *context;
}

/// What programs have that Tenon's memory lies over.
template <typename Object>
auto& users() {
  static auto& all = *new conformance::UsersObjects<opencl::detail::Probe, Object>;
  return all;
}

class OpenclUnderTest : public conformance::FrameworkUnderTest {
 public:
  std::size_t live_objects() const override { return opencl::detail::Probe::handles.load(); }
  void drop_idle() override {
    users<Ref<Memory>>().drop_idle();
    users<std::shared_ptr<void>>().drop_idle();
  }
  bool fail_native_call(std::size_t n) override {
    opencl::detail::Probe::failed.store(false);
    opencl::detail::Probe::countdown.store(static_cast<long>(n));
    return true;
  }
  bool native_call_failed() const override { return opencl::detail::Probe::failed.load(); }
};

class BuffersUnderTest final : public OpenclUnderTest {
 public:
  std::string_view name() const override { return "opencl_buffer"; }
  Context make_context() override { return main_context(); }
  std::vector<std::string> variants() const override {
    return {"device", "host_visible", "borrowed", "adopted_host_ptr", "sub_buffer"};
  }

  conformance::Allocation make_memory(const Context& context, std::string_view variant,
                                      const Requirements& wanted) override {
    using opencl::detail::Handle;
    Requirements as = wanted;
    as.host_access = variant == "host_visible";
    // Where the host reaches no allocation in place, both are the same.
    if (as.host_access && std::holds_alternative<Refusal>(context->offer(as))) as.host_access = false;
    if (variant == "device" || variant == "host_visible") return {context->allocate(as), {}};
    const std::size_t size = std::max<std::size_t>(wanted.size_bytes, 1);
    const opencl::detail::Native& native = context.as<opencl::FacetContext>()->native();
    const TensorInfo bytes{element::u8, {wanted.size_bytes}, {}};
    if (variant == "adopted_host_ptr") {
      // A user's buffer over their own memory.
      const std::shared_ptr<void> own(::operator new((size + 4095) / 4096 * 4096, std::align_val_t(4096)),
                                      [](void* data) { ::operator delete(data, std::align_val_t(4096)); });
      cl_int status = CL_SUCCESS;
      cl_mem buffer =
          clCreateBuffer(opencl::handle(context), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, size, own.get(), &status);
      if (status != CL_SUCCESS)
        throw Error(Code::kResourceExhausted, "a user's buffer over memory of the user's", "clCreateBuffer", status);
      const Ref<Memory> adopted = opencl::adopt(context, buffer, bytes).memory();
      users<std::shared_ptr<void>>().keep(own, 0, adopted);
      return {adopted, {}};
    }
    if (variant == "borrowed") {
      const Handle<cl_mem> buffer =
          opencl::detail::make_buffer(native, CL_MEM_READ_WRITE, size, nullptr, "a user's buffer");
      return {opencl::wrap(context, buffer.get(), bytes).memory(), {}};
    }
    const std::size_t origin = native.device.base_alignment;
    const Handle<cl_mem> whole =
        opencl::detail::make_buffer(native, CL_MEM_READ_WRITE, size + origin, nullptr, "a user's buffer");
    const cl_buffer_region region{origin, size};
    cl_int status = CL_SUCCESS;
    cl_mem part = clCreateSubBuffer(whole.get(), 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    if (status != CL_SUCCESS)
      throw Error(Code::kResourceExhausted, "a user's part of a buffer", "clCreateSubBuffer", status);
    return {opencl::adopt(context, part, bytes).memory(), {}};
  }
};

/// Another context over the same cl_context, with another queue.
class OtherQueueUnderTest final : public OpenclUnderTest {
 public:
  std::string_view name() const override { return "opencl_other_queue"; }
  Context make_context() override {
    static const Context* context = new Context(opencl::wrap(opencl::handle(main_context()), nullptr));
    return *context;
  }
};

/// A separate cl_context on the same device: memory may pass only over the host.
class ForeignUnderTest final : public OpenclUnderTest {
 public:
  std::string_view name() const override { return "opencl_foreign"; }
  Context make_context() override {
    static const Context* context = new Context(opencl::make_context());
    return *context;
  }
};

/// Images of bytes, for tensors of any shape; and pictures in their own formats, with one image per plane.
class ImagesUnderTest final : public OpenclUnderTest {
 public:
  std::string_view name() const override { return "opencl_image"; }
  Context make_context() override { return opencl::images(main_context()); }
  std::vector<std::string> variants() const override { return {"bytes", "pictures", "wrapped"}; }

  Tensor make_tensor(const Context& context, std::string_view variant, const TensorInfo& info,
                     std::size_t offset) override {
    if (variant == "bytes") return FrameworkUnderTest::make_tensor(context, variant, info, offset);
    auto& images = *context.as<opencl::ImageContext>();
    if (!info.strides.empty() || offset != 0 || images.refusal(info.type, info.shape, kSamples)) return {};
    return wrapped(context, variant, opencl::allocate_image(context, info.type, info.shape, kSamples));
  }
  Frame make_frame(const Context& context, std::string_view variant, const FrameInfo& info) override {
    if (variant == "bytes") return FrameworkUnderTest::make_frame(context, variant, info);
    if (!possible(info.format)) return {};
    const Frame frame = opencl::allocate_image_frame(context, info, kSamples);
    std::vector<Tensor> planes;
    for (const Tensor& plane : frame.planes()) planes.push_back(wrapped(context, variant, plane));
    return Frame(info, std::move(planes));
  }
  std::vector<conformance::Exclusion> exclusions() const override {
    std::vector<conformance::Exclusion> excluded;
    if (opencl::contexts().empty()) return excluded;  // make_context() says why nothing runs.
    for (PixelFormat format : {kNv12, kP010, kI420, kGray8, kYuy2, kRgb24, kBgra, kRgbPlanar}) {
      if (!possible(format))
        excluded.push_back({"format:" + std::string(format_info(format).name),
                            "the platform has no image format for one of its planes"});
    }
    return excluded;
  }

 private:
  static constexpr opencl::Samples kSamples = opencl::Samples::kNormalised;
  static bool possible(PixelFormat format) {
    const Context context = opencl::images(main_context());
    for (std::size_t p = 0; p < format_info(format).plane_count; ++p) {
      if (context.as<opencl::ImageContext>()->refusal(format_info(format).sample, plane_shape({format, 64, 48}, p),
                                                      kSamples))
        return false;
    }
    return true;
  }
  /// A user's own image; the user keeps a reference.
  static Tensor wrapped(const Context& context, std::string_view variant, const Tensor& tensor) {
    if (variant == "pictures") return tensor;
    const Tensor as = opencl::wrap_image(context, opencl::image(tensor));
    return as.shape() == tensor.shape() ? as : as.reshaped(tensor.shape());
  }
};

class UsmUnderTest final : public OpenclUnderTest {
 public:
  std::string_view name() const override { return "opencl_usm"; }
  Context make_context() override { return opencl::usm(main_context()); }
  std::vector<std::string> variants() const override { return {"host", "device", "shared", "wrapped"}; }

  conformance::Allocation make_memory(const Context& context, std::string_view variant,
                                      const Requirements& wanted) override {
    auto& usm = *context.as<opencl::UsmContext>();
    const auto type = variant == "host"     ? opencl::UsmType::kHost
                      : variant == "device" ? opencl::UsmType::kDevice
                                            : opencl::UsmType::kShared;
    if (variant != "wrapped") return {usm.allocate(wanted, type), {}};
    const Ref<Memory> own = usm.allocate(wanted, type);
    auto* const data = static_cast<opencl::UsmMemory&>(*own).data();
    const Ref<Memory> wrapped = opencl::wrap_usm(context, data, {element::u8, {wanted.size_bytes}, {}}).memory();
    users<Ref<Memory>>().keep(own, 1, wrapped);
    return {wrapped, {}};
  }
};

class SvmUnderTest final : public OpenclUnderTest {
 public:
  std::string_view name() const override { return "opencl_svm"; }
  Context make_context() override { return opencl::svm(main_context()); }
  std::vector<std::string> variants() const override { return {"coarse", "fine", "aligned_to_pages"}; }

  conformance::Allocation make_memory(const Context& context, std::string_view variant,
                                      const Requirements& wanted) override {
    auto& svm = *context.as<opencl::SvmContext>();
    Requirements as = wanted;
    if (variant == "aligned_to_pages") as.alignment = 4096;
    return {svm.allocate(as, variant == "fine" && svm.has_fine_grained()), {}};
  }
};

/// Simulates a device with its own memory: every edge copies. Real ones are tested wherever this runs on one.
class DiscreteUnderTest final : public OpenclUnderTest {
 public:
  std::string_view name() const override { return "opencl_discrete"; }
  Context make_context() override {
    static const Context* context =
        new Context(opencl::make_context(opencl::device(main_context()).id, opencl::Coherency::kCopied));
    return *context;
  }
};

/// Simulates a GPU that shares the host's memory: shared, with a map or unmap at each change of sides.
class UnifiedUnderTest final : public OpenclUnderTest {
 public:
  std::string_view name() const override { return "opencl_unified"; }
  Context make_context() override {
    const opencl::Device& device = opencl::device(main_context());
    if (!device.host_unified) throw Error(Code::kUnavailable, device.name + " does not have the host's memory");
    static const Context* context = new Context(opencl::make_context(device.id, opencl::Coherency::kMapped));
    return *context;
  }
};

[[maybe_unused]] const bool registered =
    conformance::add(std::make_unique<BuffersUnderTest>()) &&
    conformance::add(std::make_unique<OtherQueueUnderTest>()) &&
    conformance::add(std::make_unique<ImagesUnderTest>()) && conformance::add(std::make_unique<UsmUnderTest>()) &&
    conformance::add(std::make_unique<SvmUnderTest>()) && conformance::add(std::make_unique<ForeignUnderTest>()) &&
    conformance::add(std::make_unique<DiscreteUnderTest>()) && conformance::add(std::make_unique<UnifiedUnderTest>());

}  // namespace opencl_conformance
