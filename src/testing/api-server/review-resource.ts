/** The one review that is served; POST only, and nothing is stored. */
export const accessReviewResource = {
  path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
  group: 'authorization.k8s.io',
  resource: 'selfsubjectaccessreviews',
  singular: 'selfsubjectaccessreview',
  kind: 'SelfSubjectAccessReview',
} as const;
