// SPDX-License-Identifier: Apache-2.0
// Contexts on the same device, and what that means for imports.
#include <tenon/core/device_identity.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/router.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace device_identity_test {

using namespace tenon;
using ::testing::HasSubstr;

constexpr std::array<std::uint8_t, 16> kOneUuid{1}, kOtherUuid{2};
constexpr PciAddress kSlot{0, 3, 0, 0}, kOtherSlot{0, 4, 0, 0};

TEST(DeviceIdentity, AgreesWhereAnySharedNameAgreesAndNoneContradicts) {
  const DeviceIdentity by_uuid = DeviceIdentity().set(kDeviceUuid, kOneUuid);
  const DeviceIdentity by_both = DeviceIdentity().set(kPciAddress, kSlot).set(kDeviceUuid, kOneUuid);
  const DeviceIdentity by_slot = DeviceIdentity().set(kPciAddress, kSlot);
  EXPECT_TRUE(by_uuid.same_device(by_both) && by_both.same_device(by_slot));
  EXPECT_EQ(by_uuid.compare(by_slot), DeviceMatch::kUnknown) << "they name it in different ways";
  EXPECT_FALSE(by_uuid.same_device(by_slot));
  // One UUID for all devices of a model, and two slots: two devices.
  const DeviceIdentity twin = DeviceIdentity().set(kDeviceUuid, kOneUuid).set(kPciAddress, kOtherSlot);
  EXPECT_EQ(by_both.compare(twin), DeviceMatch::kDifferent);
  EXPECT_EQ(by_uuid.compare(twin), DeviceMatch::kSame);
  EXPECT_EQ(DeviceIdentity().compare(DeviceIdentity()), DeviceMatch::kUnknown);
}

TEST(DeviceIdentity, IsAnOpenSet) {
  constexpr DeviceIdKind kSerial{"maker's serial number"};
  DeviceIdentity a = DeviceIdentity().set(kSerial, std::uint64_t{7});
  EXPECT_TRUE(a.has(kSerial));
  EXPECT_TRUE(a.same_device(DeviceIdentity().set(DeviceIdKind("maker's serial number"), std::uint64_t{7})));
  a.set(kSerial, std::uint64_t{8});  // Replaced, not added.
  EXPECT_EQ(a, DeviceIdentity().set(kSerial, std::uint64_t{8}));
  EXPECT_EQ(a.compare(DeviceIdentity().set(kSerial, std::uint64_t{7})), DeviceMatch::kDifferent);
  // More names than fit inline.
  for (const DeviceIdKind kind : {kPciAddress, kDeviceUuid, kDeviceLuid, kDrmNode}) a.set(kind, std::uint64_t{1});
  EXPECT_EQ(a.compare(DeviceIdentity().set(kDrmNode, std::uint64_t{1})), DeviceMatch::kSame);
}

TEST(DeviceIdentity, TheHostIsTheCpu) {
  EXPECT_TRUE(host_context()->device().has(kHostCpu));
  EXPECT_TRUE(same_device(host_context(), host_context()));
  EXPECT_FALSE(same_device(host_context(), Context()));
}

constexpr MemoryKind kHome{"import test home"}, kThere{"import test target"};

class DeviceContext final : public ContextImpl {
 public:
  DeviceContext(MemoryKind kind, DeviceIdentity device) : kind_(kind), device_(std::move(device)) {}
  std::string_view name() const override { return kind_.name(); }
  MemoryKind kind() const override { return kind_; }
  DeviceIdentity device() const override { return device_; }

 private:
  MemoryKind kind_;
  DeviceIdentity device_;
};

Context on_device(MemoryKind kind, const DeviceIdentity& device) {
  return Context(make_ref<DeviceContext>(kind, device));
}

/// Memory with a descriptor that `device` made.
class ExportedMemory final : public Memory {
 public:
  static Tensor on(const Context& home, FdKind fd, std::uint64_t modifier = 0) {
    Properties properties;
    properties.size_bytes = 4096;
    properties.fd = fd;
    properties.modifier = modifier;
    properties.exporter = std::make_shared<const DeviceIdentity>(home->device());
    return Tensor(TensorInfo{ElementType::kU8, {4096}, {}}, Ref<Memory>(new ExportedMemory(home, properties)));
  }

 private:
  ExportedMemory(const Context& home, const Properties& properties) : Memory(home, home->kind(), properties) {}
};

class ImportEdge final : public Edge {
 public:
  std::string_view name() const override { return "import test"; }
  MemoryKind from() const override { return kHome; }
  MemoryKind to() const override { return kThere; }
  Step step(const Description& from, const Context& to, Access) const override {
    if (auto refusal = refuses_import(from, to)) return *std::move(refusal);
    return shared_in_place(from, to, kThere, 100);
  }
  Tensor map(const Tensor&, const Context&, const MapOptions&) const override { return {}; }
};

class Imports : public ::testing::Test {
 protected:
  Imports() { router.add(std::span(edges)); }
  bool possible(const Tensor& source, const Context& to) const { return router.plan(describe(source), to)->possible(); }

  const ImportEdge edge;
  const Edge* const edges[1] = {&edge};
  Router router;
  const DeviceIdentity here = DeviceIdentity().set(kPciAddress, kSlot);
  const DeviceIdentity elsewhere = DeviceIdentity().set(kPciAddress, kOtherSlot);
  const Context home = on_device(kHome, here);
  const Context same = on_device(kThere, here), other = on_device(kThere, elsewhere), unknown = on_device(kThere, {});
};

TEST_F(Imports, OnlyTheDeviceThatMadeAnOpaqueFdTakesIt) {
  for (const FdKind fd : {FdKind::kOpaqueFd, FdKind::kVulkanFd, FdKind::kCudaFd, FdKind::kNtHandle}) {
    const Tensor source = ExportedMemory::on(home, fd);
    EXPECT_TRUE(possible(source, same)) << fd.name();
    EXPECT_FALSE(possible(source, other)) << fd.name();
    EXPECT_FALSE(possible(source, unknown)) << fd.name();
    EXPECT_THAT(router.explain(describe(source), other),
                ::testing::AllOf(HasSubstr(std::string(fd.name())), HasSubstr("is another device")));
    EXPECT_THAT(router.explain(describe(source), unknown), HasSubstr("is not known to be that device"));
  }
}

TEST_F(Imports, ADmabufOfAnotherDeviceIsTakenUnlessItIsTiled) {
  EXPECT_TRUE(possible(ExportedMemory::on(home, FdKind::kDmabuf), other));
  constexpr std::uint64_t kTiled = 0x0100000000000001;
  const Tensor tiled = ExportedMemory::on(home, FdKind::kDmabuf, kTiled);
  EXPECT_TRUE(possible(tiled, same));
  EXPECT_FALSE(possible(tiled, other));
  EXPECT_THAT(router.explain(describe(tiled), other), HasSubstr("tiled for the device that made it"));
}

TEST_F(Imports, APlanIsNotReusedForMemoryOfAnotherDevice) {
  const Tensor source = ExportedMemory::on(home, FdKind::kOpaqueFd);
  Description from = describe(source);
  EXPECT_TRUE(router.plan(from, same)->possible());
  from.exporter = std::make_shared<const DeviceIdentity>(elsewhere);
  EXPECT_FALSE(router.plan(from, same)->possible());
}

}  // namespace device_identity_test
