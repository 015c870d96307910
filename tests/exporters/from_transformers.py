# SPDX-License-Identifier: Apache-2.0
"""transformers: models with their config.json and preprocessor_config.json, as save_pretrained() writes them."""
import common
import numpy as np
import torch
from PIL import Image

SIZE = common.SIZE


def small_backbone():
    from transformers import ResNetConfig

    return ResNetConfig(embedding_size=16, hidden_sizes=[16, 24, 32, 48], depths=[1, 1, 1, 1], layer_type="basic",
                        out_features=["stage2", "stage3", "stage4"])


def cases(labels):
    """Name: model, its processor, options of the export."""
    import transformers as t

    edge = {"height": SIZE, "width": SIZE}
    yield "vit", lambda: (t.ViTForImageClassification(t.ViTConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
                                                                  intermediate_size=64, image_size=SIZE, id2label=labels)),
                          t.ViTImageProcessor(size=edge)), {}
    yield "convnext", lambda: (t.ConvNextForImageClassification(t.ConvNextConfig(depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 16, 16], id2label=labels)),
                               t.ConvNextImageProcessor(size={"shortest_edge": SIZE}, crop_pct=0.875, resample=2)), {}
    yield "resnet", lambda: (t.ResNetForImageClassification(t.ResNetConfig(embedding_size=8, hidden_sizes=[8, 8, 8, 8], depths=[1, 1, 1, 1],
                                                                           id2label=labels)),
                             t.ViTImageProcessor(size=edge, do_normalize=False, resample=0)), {"dynamo": True}
    yield "mobilevit", lambda: (t.MobileViTForImageClassification(t.MobileViTConfig(
        hidden_sizes=[16, 16, 16], neck_hidden_sizes=[8, 8, 8, 8, 8, 8, 16], image_size=SIZE, id2label=labels)),
        t.MobileViTImageProcessor(size={"shortest_edge": 146}, crop_size=edge)), {}
    yield "swin", lambda: (t.SwinForImageClassification(t.SwinConfig(image_size=SIZE, embed_dim=16, depths=[1, 1], num_heads=[2, 2], window_size=4,
                                                                     id2label=labels)), t.ViTImageProcessor(size=edge)), {"dynamo": True}
    yield "siglip", lambda: (t.SiglipForImageClassification(t.SiglipConfig(
        vision_config={"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64, "image_size": SIZE},
        id2label=labels)), t.SiglipImageProcessor(size=edge)), {}
    yield "segformer", lambda: (t.SegformerForSemanticSegmentation(t.SegformerConfig(
        depths=[1, 1, 1, 1], hidden_sizes=[8, 8, 16, 16], decoder_hidden_size=16, id2label=labels)), t.SegformerImageProcessor(size=edge)), {}
    yield "upernet", lambda: (t.UperNetForSemanticSegmentation(t.UperNetConfig(
        backbone_config=t.ConvNextConfig(depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 16, 16], out_features=["stage1", "stage2", "stage3", "stage4"]),
        hidden_size=16, auxiliary_in_channels=16, auxiliary_channels=8, id2label=labels)), t.SegformerImageProcessor(size=edge)), {"dynamo": True}
    yield "mobilenet_v2_deeplab", lambda: (t.MobileNetV2ForSemanticSegmentation(t.MobileNetV2Config(depth_multiplier=0.35, id2label=labels)),
                                           t.SegformerImageProcessor(size=edge)), {}
    small = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 32, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "num_queries": 20,
             "encoder_attention_heads": 2, "decoder_attention_heads": 2, "id2label": labels}
    own = {"use_timm_backbone": False, "use_pretrained_backbone": False, "backbone": None}
    yield "detr", lambda: (t.DetrForObjectDetection(t.DetrConfig(backbone_config=small_backbone(), **small, **own)),
                           t.DetrImageProcessor(size=edge)), {}
    yield "table_transformer", lambda: (t.TableTransformerForObjectDetection(t.TableTransformerConfig(backbone_config=small_backbone(), **small, **own)),
                                        t.DetrImageProcessor(size=edge)), {"dynamo": True}
    yield "conditional_detr", lambda: (t.ConditionalDetrForObjectDetection(t.ConditionalDetrConfig(backbone_config=small_backbone(), **small, **own)),
                                       t.ConditionalDetrImageProcessor(size=edge)), {}
    yield "deformable_detr", lambda: (t.DeformableDetrForObjectDetection(t.DeformableDetrConfig(
        backbone_config=small_backbone(), num_feature_levels=4, disable_custom_kernels=True, with_box_refine=True, **small, **own)),
        t.DeformableDetrImageProcessor(size=edge)), {}
    yield "yolos", lambda: (t.YolosForObjectDetection(t.YolosConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
                                                                    image_size=[SIZE, SIZE], num_detection_tokens=20, id2label=labels)),
                            t.YolosImageProcessor(size=edge, do_pad=False)), {}
    rt = {"encoder_hidden_dim": 32, "encoder_in_channels": [24, 32, 48], "encoder_ffn_dim": 64, "encoder_attention_heads": 2, "d_model": 32,
          "decoder_in_channels": [32, 32, 32], "decoder_ffn_dim": 64, "decoder_attention_heads": 2, "num_queries": 336, "decoder_layers": 2,
          "hidden_expansion": 0.5, "id2label": labels}

    def rt_backbone(kind):
        return kind(embedding_size=16, hidden_sizes=[16, 24, 32, 48], depths=[1, 1, 1, 1], layer_type="basic",
                    out_features=["stage2", "stage3", "stage4"])

    yield "rt_detr", lambda: (t.RTDetrForObjectDetection(t.RTDetrConfig(backbone_config=rt_backbone(t.RTDetrResNetConfig), **rt)),
                              t.RTDetrImageProcessor(size=edge)), {}
    yield "rt_detr_v2", lambda: (t.RTDetrV2ForObjectDetection(t.RTDetrV2Config(backbone_config=rt_backbone(t.RTDetrResNetConfig), **rt)),
                                 t.RTDetrImageProcessor(size=edge)), {}
    yield "d_fine", lambda: (t.DFineForObjectDetection(t.DFineConfig(backbone_config=rt_backbone(t.RTDetrResNetConfig), **rt)),
                             t.RTDetrImageProcessor(size=edge)), {}
    yield "depth_anything", lambda: (t.DepthAnythingForDepthEstimation(t.DepthAnythingConfig(
        backbone_config=t.Dinov2Config(hidden_size=32, num_hidden_layers=4, num_attention_heads=2, mlp_ratio=2, image_size=126, patch_size=14,
                                       out_indices=[1, 2, 3, 4], reshape_hidden_states=False, apply_layernorm=True),
        reassemble_hidden_size=32, neck_hidden_sizes=[8, 8, 16, 16], fusion_hidden_size=8, head_hidden_size=8, patch_size=14)),
        t.DPTImageProcessor(size={"height": 126, "width": 126}, keep_aspect_ratio=False)), {}
    yield "dpt", lambda: (t.DPTForDepthEstimation(t.DPTConfig(
        hidden_size=32, num_hidden_layers=4, num_attention_heads=2, intermediate_size=64, image_size=SIZE, backbone_out_indices=[0, 1, 2, 3],
        neck_hidden_sizes=[8, 8, 16, 16], fusion_hidden_size=8)), t.DPTImageProcessor(size=edge, keep_aspect_ratio=False)), {"dynamo": True}
    yield "glpn", lambda: (t.GLPNForDepthEstimation(t.GLPNConfig(
        depths=[1, 1, 1, 1], hidden_sizes=[8, 8, 16, 16], num_attention_heads=[1, 2, 2, 4], decoder_hidden_size=8)),
                           t.ViTImageProcessor(size=edge, do_normalize=False)), {}
    yield "vitpose", lambda: (t.VitPoseForPoseEstimation(t.VitPoseConfig(backbone_config=t.VitPoseBackboneConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, image_size=[SIZE, SIZE], patch_size=[16, 16], out_indices=[1]), num_labels=7,
        scale_factor=4)), t.ViTImageProcessor(size=edge)), {}
    large = {"height": 384, "width": 384}
    yield "rf_detr", lambda: (t.RfDetrForObjectDetection(t.RfDetrConfig(id2label=labels)), t.RfDetrImageProcessor(size=large)), {}
    yield "dab_detr", lambda: (t.DabDetrForObjectDetection(t.DabDetrConfig(
        backbone_config=small_backbone(), encoder_layers=1, decoder_layers=1, hidden_size=32, encoder_ffn_dim=64, decoder_ffn_dim=64,
        num_queries=20, encoder_attention_heads=2, decoder_attention_heads=2, id2label=labels, **own)),
        t.ConditionalDetrImageProcessor(size=edge)), {}


def export(family, photo):
    labels = dict(enumerate(common.LABELS))
    picture = Image.open(photo)
    frame = (picture.height, picture.width)

    def one(place, make, options):
        torch.manual_seed(5)
        model, processor = make()
        common.varied(model, 5)
        kind = type(model).__name__
        model.config.architectures = [kind]
        model.config.save_pretrained(place)
        processor.save_pretrained(place)
        tensor = processor(picture, return_tensors="pt")["pixel_values"]
        if kind.endswith("ForSemanticSegmentation"):
            with torch.no_grad():
                common.let_each_class_win(model, model(pixel_values=tensor).logits)
        outputs = ["logits", "pred_boxes"] if kind.endswith("ForObjectDetection") else ["logits"]

        class Plain(torch.nn.Module):
            """What people wrap models in: dictionaries are no outputs of a graph."""

            def __init__(self):
                super().__init__()
                self.model = model

            def forward(self, pixel_values):
                out = self.model(pixel_values=pixel_values)
                return (out.logits, out.pred_boxes) if len(outputs) == 2 else next(
                    out[key] for key in ("logits", "predicted_depth", "heatmaps") if key in out)

        said = {"model": common.to_onnx(Plain().eval(), place / "model.onnx", torch.zeros_like(tensor), outputs, **options)}
        with torch.no_grad():
            out = model(pixel_values=tensor)
        if kind.endswith("ForObjectDetection"):
            found = processor.post_process_object_detection(out, threshold=0.0, target_sizes=[frame])[0]
            order = found["scores"].argsort(descending=True)
            common.add_boxes(said, found["boxes"][order], found["scores"][order], found["labels"][order])
            said["names"], said["confidence"] = common.LABELS, 0.0
        elif kind.endswith("ForImageClassification"):
            said["names"], said["probabilities"] = common.LABELS, out.logits.softmax(-1)[0].tolist()
        elif kind.endswith("ForSemanticSegmentation"):
            said["names"] = common.LABELS
            common.add_maps(said, classes=out.logits.argmax(1)[0].numpy().astype(np.uint8))
        elif kind.endswith("ForDepthEstimation"):
            common.add_maps(said, depth=out.predicted_depth[0].numpy())
        else:
            maps = out.heatmaps[0].reshape(out.heatmaps.shape[1], -1).argmax(1)
            height, width = out.heatmaps.shape[2:]
            said["points"] = [[[(int(at) % width + 0.5) * frame[1] / width, (int(at) // width + 0.5) * frame[0] / height] for at in maps]]
        common.add_probe(said, tensor)
        # Scores of random weights tie, so which queries are chosen hangs on the last digits: all are taken (336 cells), in any order.
        if getattr(model.config, "num_queries", 0) != 336:
            common.add_runs(said, tensor)
        return said

    for case, make, options in cases(labels):
        family.add(case, lambda place: one(place, make, options))
