/* Coefficients of wire/math.h, lowest power first: NPU_<FUNCTION>_C<power>. Written by scripts/fit-math. */
#ifndef NPU_WIRE_MATH_COEF_H
#define NPU_WIRE_MATH_COEF_H

/* exp(r) = 1 + r + r^2 * P(r), |r| <= ln(2)/2; error of the fit 2^-28.1 */
#define NPU_EXP_C0 0x1.fffffcp-2f
#define NPU_EXP_C1 0x1.55548cp-3f
#define NPU_EXP_C2 0x1.5558b8p-5f
#define NPU_EXP_C3 0x1.123e58p-7f
#define NPU_EXP_C4 0x1.6a4da6p-10f

/* log(1+f) = f - f^2/2 + f^3 * P(f), 1+f in [sqrt(1/2), sqrt(2)]; error of the fit 2^-30.2 */
#define NPU_LOG_C0 0x1.555546p-2f
#define NPU_LOG_C1 -0x1.fffff8p-3f
#define NPU_LOG_C2 0x1.99a524p-3f
#define NPU_LOG_C3 -0x1.555fbep-3f
#define NPU_LOG_C4 0x1.233318p-3f
#define NPU_LOG_C5 -0x1.fbbf34p-4f
#define NPU_LOG_C6 0x1.e6d1b8p-4f
#define NPU_LOG_C7 -0x1.e02112p-4f
#define NPU_LOG_C8 0x1.16a744p-4f

/* sin(r) = r + r^3 * P(r^2), |r| <= pi/4 and a little more; error of the fit 2^-32.4 */
#define NPU_SIN_C0 -0x1.555556p-3f
#define NPU_SIN_C1 0x1.11116ep-7f
#define NPU_SIN_C2 -0x1.a05146p-13f
#define NPU_SIN_C3 0x1.79b8ap-19f

/* cos(r) = 1 - r^2/2 + r^4 * P(r^2); error of the fit 2^-32.5 */
#define NPU_COS_C0 0x1.555548p-5f
#define NPU_COS_C1 -0x1.6c0aeep-10f
#define NPU_COS_C2 0x1.998e5ep-16f

/* tanh(x) = x + x^3 * P(x^2), |x| < 0.625; error of the fit 2^-27.7 */
#define NPU_TANH_C0 -0x1.555532p-2f
#define NPU_TANH_C1 0x1.1106fcp-3f
#define NPU_TANH_C2 -0x1.b83738p-5f
#define NPU_TANH_C3 0x1.5207b8p-6f
#define NPU_TANH_C4 -0x1.75619ap-8f

/* erf(x) = x + x * P(x^2), |x| < 0.875; error of the fit 2^-30.1 */
#define NPU_ERF_C0 0x1.06eba8p-3f
#define NPU_ERF_C1 -0x1.81274p-2f
#define NPU_ERF_C2 0x1.ce2d6p-4f
#define NPU_ERF_C3 -0x1.b80062p-6f
#define NPU_ERF_C4 0x1.543f2ap-8f
#define NPU_ERF_C5 -0x1.a583bcp-11f
#define NPU_ERF_C6 0x1.4d2864p-14f

/* erf(x) = 1 - exp(-x * P(x)), 0.875 <= x < 3.925; error of the fit 2^-29.7 */
#define NPU_ERFC_C0 0x1.20eccep+0f
#define NPU_ERFC_C1 0x1.454594p-1f
#define NPU_ERFC_C2 0x1.b225bap-4f
#define NPU_ERFC_C3 -0x1.81d358p-6f
#define NPU_ERFC_C4 0x1.d0097ep-9f
#define NPU_ERFC_C5 -0x1.37d11cp-12f
#define NPU_ERFC_C6 0x1.22a098p-17f

#endif
