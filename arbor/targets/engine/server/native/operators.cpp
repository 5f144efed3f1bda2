// Float32 operators of a decoder: RMSNorm, SwiGLU, RoPE with the KV write, decode attention.
//
// Row-major; strides are in elements. The cache is [slots, kv heads, max positions, dim].
#include <cmath>
#include <cstdint>
#include <cstring>

namespace {

// exp(x) for x <= 88 to about 2e-7 relative: 2^n times a polynomial of degree 6 (Cephes expf).
inline float fast_exp(float x) {
  x = x < -87.0f ? -87.0f : (x > 88.0f ? 88.0f : x);
  const float n = std::nearbyint(x * 1.44269504088896341f);
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const int32_t bits = (static_cast<int32_t>(n) + 127) << 23;
  float power;
  std::memcpy(&power, &bits, sizeof power);
  return p * power;
}

inline void norm_row(const float* row, const float* weight, float* out, int64_t width,
                     float epsilon) {
  float sum = 0.0f;
  for (int64_t i = 0; i < width; ++i) sum += row[i] * row[i];
  const float scale = 1.0f / std::sqrt(sum / static_cast<float>(width) + epsilon);
  for (int64_t i = 0; i < width; ++i) out[i] = weight[i] * (row[i] * scale);
}

}  // namespace

extern "C" {

void rms_norm(const float* rows, const float* weight, float* out, int64_t num_rows, int64_t width,
              float epsilon) {
  for (int64_t r = 0; r < num_rows; ++r)
    norm_row(rows + r * width, weight, out + r * width, width, epsilon);
}

// rows += delta, then out = norm(rows).
void add_rms_norm(float* rows, const float* delta, const float* weight, float* out,
                  int64_t num_rows, int64_t width, float epsilon) {
  for (int64_t r = 0; r < num_rows; ++r) {
    float* row = rows + r * width;
    const float* add = delta + r * width;
    for (int64_t i = 0; i < width; ++i) row[i] += add[i];
    norm_row(row, weight, out + r * width, width, epsilon);
  }
}

void swiglu(const float* gate, int64_t gate_stride, const float* up, int64_t up_stride, float* out,
            int64_t num_rows, int64_t width) {
  for (int64_t r = 0; r < num_rows; ++r) {
    const float* g = gate + r * gate_stride;
    const float* u = up + r * up_stride;
    float* o = out + r * width;
    for (int64_t i = 0; i < width; ++i) o[i] = g[i] / (1.0f + fast_exp(-g[i])) * u[i];
  }
}

// Rotates query rows in place; rotates key rows and copies value rows into the cache.
void rope_and_write(float* query, int64_t query_stride, const float* key, int64_t key_stride,
                    const float* value, int64_t value_stride, const float* cosine,
                    const float* sine, const int64_t* positions, const int64_t* slots,
                    float* key_cache, float* value_cache, int64_t num_rows, int64_t heads,
                    int64_t kv_heads, int64_t dim, int64_t max_positions) {
  const int64_t half = dim / 2;
  for (int64_t r = 0; r < num_rows; ++r) {
    const int64_t position = positions[r];
    const float* c = cosine + position * dim;
    const float* s = sine + position * dim;
    for (int64_t h = 0; h < heads; ++h) {
      float* q = query + r * query_stride + h * dim;
      for (int64_t i = 0; i < half; ++i) {
        const float a = q[i], b = q[i + half];
        q[i] = a * c[i] - b * s[i];
        q[i + half] = b * c[i] + a * s[i];
      }
    }
    for (int64_t h = 0; h < kv_heads; ++h) {
      const int64_t place = ((slots[r] * kv_heads + h) * max_positions + position) * dim;
      const float* k = key + r * key_stride + h * dim;
      float* to = key_cache + place;
      for (int64_t i = 0; i < half; ++i) {
        to[i] = k[i] * c[i] - k[i + half] * s[i];
        to[i + half] = k[i + half] * c[i] + k[i] * s[i];
      }
      std::memcpy(value_cache + place, value + r * value_stride + h * dim, dim * sizeof(float));
    }
  }
}

// One query row per sequence over its own context; scores is scratch of group * max_positions.
void decode_attention(const float* query, int64_t query_stride, const float* key_cache,
                      const float* value_cache, const int64_t* positions, const int64_t* slots,
                      float* scores, float* out, int64_t num_rows, int64_t heads,
                      int64_t kv_heads, int64_t dim, int64_t max_positions, float scale) {
  const int64_t group = heads / kv_heads;
  for (int64_t r = 0; r < num_rows; ++r) {
    const int64_t context = positions[r] + 1;
    for (int64_t h = 0; h < kv_heads; ++h) {
      const int64_t place = (slots[r] * kv_heads + h) * max_positions * dim;
      const float* keys = key_cache + place;
      const float* values = value_cache + place;
      const float* q = query + r * query_stride + h * group * dim;
      float* o = out + (r * heads + h * group) * dim;
      for (int64_t t = 0; t < context; ++t) {
        const float* k = keys + t * dim;
        for (int64_t g = 0; g < group; ++g) {
          float dot = 0.0f;
          for (int64_t i = 0; i < dim; ++i) dot += q[g * dim + i] * k[i];
          scores[g * max_positions + t] = dot * scale;
        }
      }
      for (int64_t g = 0; g < group; ++g) {
        float* p = scores + g * max_positions;
        float most = p[0];
        for (int64_t t = 1; t < context; ++t) most = p[t] > most ? p[t] : most;
        float sum = 0.0f;
        for (int64_t t = 0; t < context; ++t) {
          p[t] = fast_exp(p[t] - most);
          sum += p[t];
        }
        const float inverse = 1.0f / sum;
        float* og = o + g * dim;
        for (int64_t i = 0; i < dim; ++i) og[i] = 0.0f;
        for (int64_t t = 0; t < context; ++t) {
          const float weight = p[t] * inverse;
          const float* v = values + t * dim;
          for (int64_t i = 0; i < dim; ++i) og[i] += weight * v[i];
        }
      }
    }
  }
}

}  // extern "C"
