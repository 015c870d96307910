/* SPDX-License-Identifier: Apache-2.0
   A core, and the version of what is behind it, in C. */
#include <openvino/c/openvino.h>
#include <stdio.h>

int main(void) {
  ov_core_t* core = NULL;
  ov_version_t version;
  ov_available_devices_t devices;
  size_t i;
  if (ov_core_create(&core) != OK || ov_get_openvino_version(&version) != OK ||
      ov_core_get_available_devices(core, &devices) != OK)
    return 1;
  printf("%s:", version.buildNumber);
  for (i = 0; i < devices.size; ++i) printf(" %s", devices.devices[i]);
  printf("\n");
  ov_available_devices_free(&devices);
  ov_version_free(&version);
  ov_core_free(core);
  return 0;
}
