/* SPDX-License-Identifier: Apache-2.0
   Compiled models on disk: the cache, with encryption, and files that the program exports. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"

static int encrypted, decrypted;
static void turn(const char* in, const size_t size, char* out, size_t* out_size) {
  size_t i;
  *out_size = size;
  for (i = 0; out && i < size; ++i) out[i] = (char)(in[i] ^ 0x5a);
}
static void encrypt(const char* in, const size_t size, char* out, size_t* out_size) {
  ++encrypted;
  turn(in, size, out, out_size);
}
static void decrypt(const char* in, const size_t size, char* out, size_t* out_size) {
  ++decrypted;
  turn(in, size, out, out_size);
}
static void loaded(const char* what, const ov_compiled_model_t* compiled) {
  char* value = NULL;
  MUST(ov_compiled_model_get_property(compiled, "LOADED_FROM_CACHE", &value));
  say("%s: from the cache %s", what, value);
  ov_free(value);
}

void caching(void) {
  ov_core_t* core = NULL;
  ov_model_t* model;
  ov_compiled_model_t *compiled = NULL, *imported = NULL;
  ov_infer_request_t* request = NULL;
  ov_tensor_t* y = NULL;
  ov_encryption_callbacks callbacks = {encrypt, decrypt};
  ov_property_t list[2];
  char cache[256];
  char* content;
  size_t size;
  FILE* file;
  int i;
  MUST(ov_core_create(&core));
  model = small_model(core, "1,3,4,4");
  snprintf(cache, sizeof(cache), "%s", path_of("cache"));
  for (i = 0; i < 2; ++i) {
    MUST(ov_core_compile_model(core, model, "CPU", 2, &compiled, ov_property_key_cache_dir, cache));
    loaded(i ? "second" : "first", compiled);
    ov_compiled_model_free(compiled);
  }
  snprintf(cache, sizeof(cache), "%s", path_of("encrypted"));
  for (i = 0; i < 2; ++i) {
    MUST(ov_core_compile_model(core, model, "CPU", 4, &compiled, ov_property_key_cache_dir, cache,
                               ov_property_key_cache_encryption_callbacks, &callbacks));
    loaded(i ? "second, encrypted" : "first, encrypted", compiled);
    ov_compiled_model_free(compiled);
  }
  say("encrypted %d, decrypted %d", encrypted > 0, decrypted > 0);
  list[0].key = ov_property_key_cache_dir;
  list[0].value = cache;
  list[1].key = ov_property_key_cache_encryption_callbacks;
  list[1].value = &callbacks;
  MUST(ov_core_compile_model_props(core, model, "CPU", 2, list, &compiled));
  loaded("as an array", compiled);
  ov_compiled_model_free(compiled);

  MUST(ov_core_compile_model(core, model, "CPU", 0, &compiled));
  refused("export nowhere", ov_compiled_model_export_model(compiled, path_of("no/such/folder")), NULL);
  MUST(ov_compiled_model_export_model(compiled, path_of("model.blob")));
  file = fopen(path_of("model.blob"), "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) {
    say("no file");
    return;
  }
  size = (size_t)ftell(file);
  rewind(file);
  content = (char*)malloc(size);
  if (!content || fread(content, 1, size, file) != size) say("not read");
  fclose(file);
  MUST(ov_core_import_model(core, content, size, "CPU", &imported));
  ov_compiled_model_free(compiled);
  refused("half of it", ov_core_import_model(core, content, size / 2, "CPU", &compiled), NULL);
  MUST(ov_compiled_model_create_infer_request(imported, &request));
  MUST(ov_infer_request_get_input_tensor(request, &y));
  {
    void* data;
    MUST(ov_tensor_data(y, &data));
    memset(data, 0, 48 * sizeof(float));
  }
  ov_tensor_free(y);
  MUST(ov_infer_request_infer(request));
  MUST(ov_infer_request_get_output_tensor(request, &y));
  say_floats("imported", y, 48);
  ov_tensor_free(y);
  ov_infer_request_free(request);
  ov_compiled_model_free(imported);
  free(content); /* The original may read it as long as the model lives. */
  ov_model_free(model);
  refused("not a model", ov_core_import_model(core, "abc", 3, "CPU", &imported), NULL);
  ov_core_free(core);
}
