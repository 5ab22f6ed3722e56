import { createTheme, type MantineColorsTuple } from '@mantine/core';

/** The service's own green: calm beside the red and amber of what needs a person. */
const pine: MantineColorsTuple = [
  '#e9f7f3',
  '#d3ece4',
  '#a6d9c8',
  '#76c5ab',
  '#4fb492',
  '#35a983',
  '#1f8f6d',
  '#0f7557',
  '#0a664b',
  '#03543d',
];

/** Of what cannot be undone: Mantine's, but for its dark end, on which white is not read. */
const red: MantineColorsTuple = [
  '#fff5f5',
  '#ffe3e3',
  '#ffc9c9',
  '#ffa8a8',
  '#ff8787',
  '#ff6b6b',
  '#fa5252',
  '#c92a2a',
  '#b32424',
  '#9c1e1e',
];

const SMALL = [
  ...['Button', 'TextInput', 'NumberInput', 'Textarea', 'Select', 'SegmentedControl'],
  ...['MultiSelect', 'PasswordInput', 'Radio', 'Checkbox'],
];

/** Dense and calm: small text, thin lines, one colour that acts. */
export const theme = createTheme({
  primaryColor: 'pine',
  // One for both: white on it is read in the dark too.
  primaryShade: 7,
  autoContrast: true,
  colors: { pine, red },
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, monospace',
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.25rem' },
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  headings: {
    fontWeight: '600',
    sizes: {
      h1: { fontSize: '1.25rem', lineHeight: '1.75rem' },
      h2: { fontSize: '0.9375rem', lineHeight: '1.375rem' },
      h3: { fontSize: '0.8125rem', lineHeight: '1.25rem' },
    },
  },
  components: {
    ...Object.fromEntries(SMALL.map((name) => [name, { defaultProps: { size: 'xs' } }])),
    Badge: { defaultProps: { variant: 'light', radius: 'sm', tt: 'none' } },
    Tooltip: { defaultProps: { withArrow: true, openDelay: 300 } },
    // Its header is no banner of the page.
    Modal: { defaultProps: { centered: true, attributes: { header: { role: 'none' } } } },
  },
});
